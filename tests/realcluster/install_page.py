"""The README's section *Install*: its code blocks under their headings, and how they are run as a reader would."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).parents[2]
SECTION: Final = "Install"
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(readme: Path = CHECKOUT / "README.md") -> dict[str, list[str]]:
    """Heading -> its shell blocks, in the order of the page. Raises KeyError where the section is not there."""
    sections = dict(_parts(readme.read_text(), "## "))
    return {heading: BLOCK.findall(text) for heading, text in _parts(sections[SECTION], "### ")}


def _parts(text: str, mark: str) -> list[tuple[str, str]]:
    """Headings with what follows each, up to the next one of its rank."""
    found = re.split(rf"^{mark}(.+)\n", text, flags=re.MULTILINE)[1:]
    return list(zip(found[::2], found[1::2], strict=True))


@dataclass(frozen=True, slots=True)
class Reader:
    """Types the page's blocks in ``folder``, which shows the checkout's files, with these variables set."""

    folder: Path
    variables: Mapping[str, str]

    def prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in ("manifests", "scripts"):
            (self.folder / name).symlink_to(CHECKOUT / name)

    def types(self, script: str, seconds: float = 900.0) -> str:
        """What the block printed. A command that fails ends it, and is an AssertionError with all that was said."""
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(CHECKOUT),
            "HOME": str(self.folder),
            **self.variables,
        }
        done = subprocess.run(
            ["sh", "-eux", "-c", script],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-6000:]
        return done.stdout
