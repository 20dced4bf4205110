"""Which sort of cluster the integration suites run on: ``pytest --cluster embedded|oldest|1.36.3``.

The environment variable FEDHUB_TEST_CLUSTER says the same, for runs inside runs. Embedded unless told otherwise.
"""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

EMBEDDED = "embedded"
OLDEST = "oldest"
NEWEST = "1.36.3"
SORTS = (EMBEDDED, OLDEST, NEWEST)
VARIABLE = "FEDHUB_TEST_CLUSTER"
ASSETS = "KUBEBUILDER_ASSETS"


def chosen() -> str:
    """Raises ValueError for a sort that there is not."""
    sort = os.environ.get(VARIABLE) or EMBEDDED
    if sort not in SORTS:
        raise ValueError(f"{VARIABLE}={sort}: must be one of {', '.join(SORTS)}")
    return sort


def conditions_of_the_end() -> tuple[str, ...]:
    """What the Job controller sets when all pods have succeeded: before 1.31 the API server refuses the first."""
    return ("Complete",) if chosen() == OLDEST else ("SuccessCriteriaMet", "Complete")


def use() -> bool:
    """Whether clusters are real; then KUBEBUILDER_ASSETS names their programs for every process started from here."""
    sort = chosen()
    if sort == EMBEDDED:
        return False
    os.environ[ASSETS] = str(built(sort))
    return True


@cache
def built(sort: str) -> Path:
    """The folder of the programs of this release, built where it is not there; says on stderr what it does.

    A folder that KUBEBUILDER_ASSETS names stands for the newest release, for it holds one.
    """
    script = Path(__file__).parents[1] / "scripts" / "build-test-cluster"
    environment = dict(os.environ)
    if sort != NEWEST:
        environment.pop(ASSETS, None)
    command = [sys.executable, str(script), "--version", sort]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True)
    return Path(done.stdout.strip())
