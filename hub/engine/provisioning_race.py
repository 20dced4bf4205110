"""Where nodes have to be made for a workload, several clusters are asked for them at once; the first to have them wins.

A cloud may be out of a kind of machine for hours, and says so only after minutes. Each cluster that is asked may make
nodes for nothing, so no more are asked than the policy allows. Who won is known by its copy being admitted, and the
synchronisation then removes the others' copies, and with them what they asked of their autoscalers.
"""

from collections.abc import Collection, Sequence

from hub.engine.evaluation import Evaluation, Outlook


def contenders(
    best: Evaluation, usable: Sequence[Evaluation], nominated: Collection[str], most: int
) -> tuple[Evaluation, ...]:
    """The clusters to ask, ``best`` first: it alone where it needs no new nodes, else up to ``most`` that fit so.

    Never more than one where somebody would be preempted: work is lost in one cluster only.

    ``usable`` are ranked, best first. Those that were asked already keep their place: their nodes may be on the way.
    """
    if not (best.provisions and best.outlook == Outlook.FITS):
        return (best,)
    others = [found for found in usable if found is not best and found.provisions and found.outlook == Outlook.FITS]
    asked_first = sorted(others, key=lambda found: found.cluster not in nominated)
    return (best, *asked_first[: max(0, most - 1)])
