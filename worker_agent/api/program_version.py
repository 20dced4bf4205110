"""The version of these programs, as hub and agents tell it to each other. Pure, so not read from the installation."""

import re
from typing import Final

VERSION: Final = "0.1.0"
"""That of pyproject.toml; a test compares them."""

_FORM: Final = re.compile(r"v?(\d{1,6})\.(\d{1,6})(?:\.\d+)?(?:[-+.\w]*)\Z", re.ASCII)


def parse(text: str) -> tuple[int, int] | None:
    """Major and minor version; None where the text is no version."""
    found = _FORM.match(text)
    return (int(found[1]), int(found[2])) if found else None
