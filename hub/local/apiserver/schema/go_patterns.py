"""Go regular expressions (RE2) as Python patterns."""

import functools
import re
from typing import Final

FLAGS: Final = re.compile(r"\(\?([imsU]+)\)")
CLASSES: Final = {
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:alnum:]": "a-zA-Z0-9",
    "[:upper:]": "A-Z",
    "[:lower:]": "a-z",
    "[:space:]": r"\s",
    "[:word:]": r"\w",
    "[:xdigit:]": "0-9A-Fa-f",
    "[:punct:]": r"!-/:-@\[-`{-~",
}


@functools.cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, to be searched with: ``$`` and ``\\z`` match only at the very end, classes are ASCII.

    Raises ValueError for what is no pattern.
    """
    text = pattern
    for name, members in CLASSES.items():
        text = text.replace(name, members)
    try:
        return re.compile(_ends(_scoped(text)), re.ASCII)
    except re.error as problem:
        raise ValueError(f"{pattern!r} is not a valid pattern: {problem}") from problem


def plain(pattern: str) -> bool:
    """Whether the pattern means the same to every engine: no inline flags, no POSIX classes, no ``\\z``."""
    return not FLAGS.search(pattern) and "[:" not in pattern and "\\z" not in pattern and "(?P<" not in pattern


def _scoped(text: str) -> str:
    """``a(?i)b`` as ``a(?i:b)``: Python wants flags in the middle to name their extent."""
    match = FLAGS.search(text)
    if match is None:
        return text
    rest = text[match.end() :]
    end = _end_of_group(rest)
    flags = match[1].replace("U", "")
    inner = f"(?{flags}:{_scoped(rest[:end])})" if flags else _scoped(rest[:end])
    return text[: match.start()] + inner + _scoped(rest[end:])


def _end_of_group(text: str) -> int:
    depth, escaped, in_class = 0, False, False
    for position, character in enumerate(text):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if depth < 0:
                return position
    return len(text)


def _ends(text: str) -> str:
    """``$`` outside of classes as ``\\Z``, which does not match before a last newline."""
    result, escaped, in_class = [], False, False
    for character in text:
        if escaped:
            escaped = False
            result.append("Z" if character == "z" else character)
            continue
        if character == "\\":
            escaped = True
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        result.append("\\Z" if character == "$" and not in_class else character)
    return "".join(result)
