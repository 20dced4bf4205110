"""The interpreter as runs on virtual time need it."""

import os
import sys
from collections.abc import Mapping


def settle(module: str) -> None:
    """Returns where this process runs in ``environment``; else starts ``python -m module`` anew in its place."""
    wanted = environment(os.environ)
    if wanted != dict(os.environ):
        os.execve(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]], wanted)


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The order of sets must not differ between a run and its replay. And what Python compiled is kept: to compile 700
    modules is half of what a start costs. Where Python shall leave nothing beside the sources it is kept with the
    installation, as ``scripts/test`` does."""
    wanted = {**given, "PYTHONHASHSEED": "0"}
    if wanted.pop("PYTHONDONTWRITEBYTECODE", ""):
        wanted.setdefault("PYTHONPYCACHEPREFIX", os.path.join(sys.prefix, "compiled"))
    return wanted
