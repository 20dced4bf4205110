"""``kubectl fedhub ...``: the ``fedhub`` command as a plugin of kubectl, and its names for kubectl's completion.

kubectl finds ``kubectl-fedhub`` on PATH and, for completion, ``kubectl_complete-fedhub``, whose lines it offers.
"""

import os
import shlex
import sys
from typing import Final

from hub import cli

NO_FILES: Final = 4
"""To kubectl: offer these, and no names of files (cobra's ShellCompDirectiveNoFileComp)."""


def main() -> None:
    """The command; help shows it as it is typed."""
    cli.app(prog_name="kubectl fedhub")


def complete() -> None:
    """Prints what may follow the arguments, the last of which is not whole yet, as kubectl wants it."""
    typed = sys.argv[1:] or [""]
    # What a shell that completes ``fedhub`` itself would say; the command then prints its offers and ends.
    os.environ |= {
        "_FEDHUB_COMPLETE": "complete_bash",
        "COMP_WORDS": shlex.join(["fedhub", *typed]),
        "COMP_CWORD": str(len(typed)),
    }
    try:
        cli.app(prog_name="fedhub")
    except SystemExit:
        print(f":{NO_FILES}")
