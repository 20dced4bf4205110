"""Kueue in a mount namespace of its own: ``python -m tests.realcluster.kueue_process PROGRAM CONFIG KUBECONFIG CERTS``.

Without certificates of its own making Kueue insists on a key pair in ``/etc/kueue/metrics/certs``. An empty ``/etc``
that this process alone sees holds it, so that nothing is written to the machine's.
"""

import os
import sys

SCRIPT = """
mount -t tmpfs none /etc
mkdir -p /etc/kueue/metrics/certs
cp "$4"/tls.crt "$4"/tls.key /etc/kueue/metrics/certs/
exec "$1" --config="$2" --kubeconfig="$3"
"""


def main() -> None:
    options = "-m" if os.geteuid() == 0 else "-rm"
    os.execvp("unshare", ["unshare", options, "sh", "-ec", SCRIPT, "kueue", *sys.argv[1:5]])


if __name__ == "__main__":
    main()
