"""The Dockerfile as stages of instructions, for tests that check and replay it."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).parents[1]
PATH: Final = CHECKOUT / "Dockerfile"


@dataclass(frozen=True, slots=True)
class Instruction:
    """``RUN`` and what follows it, in one line."""

    word: str
    text: str

    @property
    def arguments(self) -> list[str]:
        return shlex.split(self.text)


@dataclass(slots=True)
class Stage:
    image: str
    name: str = ""
    instructions: list[Instruction] = field(default_factory=list)

    def all(self, word: str) -> list[Instruction]:
        return [each for each in self.instructions if each.word == word]


def stages() -> list[Stage]:
    found: list[Stage] = []
    for line in _lines(PATH.read_text()):
        word, _, text = line.partition(" ")
        if word == "FROM":
            image, _, name = text.partition(" AS ")
            found.append(Stage(image, name))
        else:
            found[-1].instructions.append(Instruction(word, text.strip()))
    return found


def _lines(text: str) -> list[str]:
    without_comments = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    whole = re.sub(r"\\\n\s*", "", without_comments)
    return [line for line in whole.splitlines() if line.strip()]
