"""Every job kind and how far one of it comes: ``python -m tests.kind_table [--kinds Job,JobSet]``.

Measured in memory on virtual time: admitted, started, ready, evicted and restored to the letter, finished, on a single
cluster; sent to a worker by a hub, and its end or readiness back on the manager. Also prints how many lines each kind
has; the last line is JSON. The exit code is 1 where a stage is not reached.
"""

import argparse
import json
import logging
import os
import sys

from tests.faults import virtual_loop
from tests.kind_table import lines, stages
from tests.kind_table.stages import NOT_ASKED, POINTLESS, STAGES
from tests.races.subjects import SUBJECTS


def measured(label: str) -> dict[str, str]:
    found = virtual_loop.run(stages.here(label))
    if "dispatched and back" not in POINTLESS.get(label, ()):
        found |= virtual_loop.run(stages.there(label))
    return {stage: NOT_ASKED if stage in POINTLESS.get(label, ()) else found.get(stage, "NO") for stage in STAGES}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kind_table", description="how far every job kind comes")
    parser.add_argument("--kinds", default="", help="these alone, separated by commas")
    asked = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)
    labels = [label for label in asked.kinds.split(",") if label] or sorted(SUBJECTS)
    print(f"{'kind':18}" + "".join(f"{stage:>22}" for stage in STAGES))
    cells = {}
    for label in labels:
        cells[label] = measured(label)
        print(f"{label:18}" + "".join(f"{cells[label][stage]:>22}" for stage in STAGES), flush=True)
    print(f"\n{'kind':18}{'file':>8}{'declared':>10}{'hooks':>8}")
    counted = lines.by_kind()
    for name, each in sorted(counted.items()):
        print(f"{name:18}{each.file:8}{each.declaration:10}{each.hooks:8}")
    print(json.dumps({"stages": cells, "lines": {name: each._asdict() for name, each in counted.items()}}))
    return 1 if any("NO" in found.values() for found in cells.values()) else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        again = [sys.executable, "-m", "tests.kind_table", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, "PYTHONHASHSEED": "0"})
    sys.exit(main(sys.argv[1:]))
