"""``python -m tests.realcluster.differential [PATTERN]``: every difference, known ones by their count."""

import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

from tests.cluster_choice import EMBEDDED, NEWEST
from tests.realcluster.clusters import Clusters
from tests.realcluster.differential import comparison, definitions, generated, script
from tests.realcluster.differential.player import Player
from tests.realcluster.differential.webhook import Webhook


def main() -> int:
    pattern = sys.argv[1] if len(sys.argv) > 1 else "*"
    everything = [*script.load_all(), *generated.scripts(240)]
    scripts = [(number, found) for number, found in enumerate(everything) if fnmatchcase(found.name, pattern)]
    known = comparison.known()
    used = different = covered = 0
    with tempfile.TemporaryDirectory() as folder, Clusters(Path(folder)) as clusters, Webhook() as webhook:
        servers = clusters.start(EMBEDDED, NEWEST, crds=definitions.documents())
        embedded, real = (Player(server, webhook.variables) for server in servers)
        for number, found in scripts:
            all_found = comparison.differences(found, embedded, real, f"s-{number}")
            new = comparison.unlisted(all_found, known)
            covered += len(all_found) - len(new)
            used += 1
            if new:
                different += 1
                print(f"\n== {found.name}")
                for one in new:
                    print(one)
    print(f"\n{used} scripts, {different} with differences outside the written list, {covered} known differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
