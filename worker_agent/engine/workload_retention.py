"""The end of a Workload's life: orphans, finished ones, and how long they stay (spec/engine 21.4, 21.5)."""

from worker_agent.api import names
from worker_agent.engine.workload_turn import Turn


def orphan(turn: Turn) -> bool:
    """A Workload without owner that is being deleted, or whose job is known to have existed, is let go.

    A manager's copy waits for its job: managers of Kueue before 0.18 leave their own job's UID on it.
    """
    labels = turn.metadata.get("labels") or {}
    had_job = labels.get(names.JOB_UID_LABEL) and not labels.get(names.MULTIKUEUE_ORIGIN_LABEL)
    if turn.metadata.get("ownerReferences") or not (turn.deleting or had_job):
        return False
    if not turn.rules.finish_orphans and not turn.deleting:
        return False
    if turn.rules.finish_orphans and not turn.deleting and not turn.finished:
        turn.draft.set(names.FINISHED, True, names.OWNER_NOT_FOUND, "The workload's owner no longer exists")
    if names.IN_USE_FINALIZER in (turn.metadata.get("finalizers") or ()):
        turn.remove_finalizer()
    return turn.deleting


def finished(turn: Turn) -> bool:
    """Finished is final. With a retention time the Workload is deleted when that is over."""
    if not turn.finished:
        return False
    kept_for = turn.rules.retention_after_finished
    if kept_for is None:
        return True
    left = kept_for - turn.age(names.FINISHED)
    if left > 0:
        turn.look_again(left)
        return True
    if names.IN_USE_FINALIZER in (turn.metadata.get("finalizers") or ()):
        turn.remove_finalizer()
    if not turn.deleting:
        turn.delete()
        turn.event("Deleted", "Deleted finished workload due to elapsed retention")
    return True
