"""The step all searches share: take victims out until it fits, then give back those that were not needed.

Works inside the caller's trial.
"""

from collections.abc import Callable

from worker_agent.engine.preemption.search import Target
from worker_agent.engine.queue_state import QueueState


def fill_back(state: QueueState, targets: list[Target], fits: Callable[[], bool]) -> list[Target]:
    """Spare every victim without whom it fits as well.

    The last one made it fit, so it stays. The others are looked at from the last to the first; the place of a spared
    one is taken by the last of the list, as in the reference: the order is the order of the writes, no more.
    """
    kept = list(targets)
    for place in range(len(kept) - 2, -1, -1):
        row = kept[place].row
        state.restore_reservation(row)
        if fits():
            kept[place] = kept[-1]
            kept.pop()
        else:
            state.remove_reservation(row)
    return kept
