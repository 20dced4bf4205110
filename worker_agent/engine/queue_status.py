"""Status of ClusterQueues, LocalQueues and Cohorts as the engine's picture tells it (spec/engine 17.2, 17.3, 18)."""

from typing import Final

from worker_agent.api import names, quantity, timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES
from worker_agent.engine.activity import Activity
from worker_agent.engine.intents import ApplyStatus, SetCondition
from worker_agent.engine.usage_history_book import UsagePicture
from worker_agent.engine.view import LocalQueuePicture, QueuePicture

FIELD_MANAGER: Final = "kueue"


def cluster_queue(picture: QueuePicture) -> ApplyStatus:
    """The whole status; what the object says already is not sent again."""
    fields: Document = {
        "flavorsReservation": picture.flavors_reservation,
        "flavorsUsage": picture.flavors_usage,
        "pendingWorkloads": picture.pending,
        "reservingWorkloads": picture.holdings.reserving,
        "admittedWorkloads": picture.holdings.admitted,
        "fairSharing": None if picture.weighted_share is None else {"weightedShare": picture.weighted_share},
    }
    return ApplyStatus(
        resource=CLUSTER_QUEUES,
        key=Key("", picture.name),
        field_manager=FIELD_MANAGER,
        conditions=(_active(picture.activity),),
        fields=fields,
        strict=False,
    )


def local_queue(picture: LocalQueuePicture) -> ApplyStatus:
    """The whole status of a LocalQueue."""
    fields: Document = {
        "flavorsReservation": picture.flavors_reservation,
        "flavorsUsage": picture.flavors_usage,
        "pendingWorkloads": picture.pending,
        "reservingWorkloads": picture.holdings.reserving,
        "admittedWorkloads": picture.holdings.admitted,
    }
    if picture.usage is not None:
        fields["fairSharing"] = {"weightedShare": 0, "admissionFairSharingStatus": _usage(picture.usage)}
    return ApplyStatus(
        resource=LOCAL_QUEUES,
        key=picture.key,
        field_manager=FIELD_MANAGER,
        conditions=(_active(picture.activity),),
        fields=fields,
        strict=False,
    )


def cohort(name: str, weighted_share: int | None) -> ApplyStatus:
    """A Cohort tells its share, and without fair sharing nothing."""
    share = None if weighted_share is None else {"weightedShare": weighted_share}
    return ApplyStatus(
        resource=COHORTS,
        key=Key("", name),
        field_manager=FIELD_MANAGER,
        fields={"fairSharing": share},
        strict=False,
    )


def _usage(usage: UsagePicture) -> Document:
    """What admission fair sharing remembers; read again after a restart."""
    consumed = {name: quantity.canonical(f"{amount}n") for name, amount in usage.consumed}
    updated = timestamps.from_micros(usage.updated)
    return {"consumedResources": consumed, "lastUpdate": timestamps.rfc3339(updated)}


def may_go(picture: QueuePicture | None) -> bool:
    """Whether a ClusterQueue that is being deleted is empty: known to take nothing more, and holding nothing."""
    if picture is None:
        return True
    return picture.activity.reason == names.TERMINATING and picture.holdings.reserving == 0


def _active(activity: Activity) -> SetCondition:
    status = "True" if activity.active else "False"
    return SetCondition(names.ACTIVE, status, activity.reason, activity.message, follows=True)
