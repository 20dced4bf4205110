"""Caches and queues in the log, for whoever looks for the reason of a wait: on SIGUSR2, as Kueue writes them."""

import logging

from worker_agent.engine.view import EngineView, QueuePicture

log = logging.getLogger(__name__)


def write(view: EngineView) -> None:
    """One line for each ClusterQueue and LocalQueue, from the view of the last cycle."""
    log.info("queues after cycle %d: %d ClusterQueues", view.cycle, len(view.cluster_queues))
    for queue in view.cluster_queues.values():
        log.info("%s", _line(queue))
    for key in view.local_queues():
        picture = view.local_queue(key)
        if picture is not None:
            log.info("LocalQueue %s: %s, %d pending", key, picture.activity.reason, picture.pending)


def _line(queue: QueuePicture) -> str:
    used = ", ".join(f"{flavor}/{resource} {amount}" for (flavor, resource), amount in queue.holdings.usage.items())
    competing = {row.key for competes, row in queue.waiting.by_place() if competes}
    pending = ", ".join(f"{key}{'' if key in competing else ' (parked)'}" for key in queue.order)
    return (
        f"ClusterQueue {queue.name}, cohort {queue.cohort or 'none'}: {queue.activity.reason}, "
        f"{queue.holdings.reserving} hold quota, {queue.holdings.admitted} admitted, "
        f"in use: {used or 'nothing'}; pending: {pending or 'none'}"
    )
