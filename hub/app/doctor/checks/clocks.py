"""Clocks: leases and certificates are judged by them, and so are the ages that users read."""

from collections.abc import Iterator

from hub.app.doctor import finding
from hub.app.doctor.finding import Finding
from hub.app.doctor.snapshot import Snapshot

NAME = "clock"
READS = ()
TOLERATED_SECONDS = 5.0


def check(snapshot: Snapshot) -> Iterator[Finding]:
    off = snapshot.clock_error
    if abs(off) > TOLERATED_SECONDS:
        yield finding.warning(
            f"cluster/{snapshot.cluster}",
            f"its clock is {abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} the one here",
            "synchronise the clocks of its control plane, and of this machine (NTP)",
        )
