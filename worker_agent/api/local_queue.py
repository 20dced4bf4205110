"""LocalQueue: the name by which the users of a namespace reach a ClusterQueue."""

from datetime import datetime
from typing import Annotated, ClassVar

import msgspec

from worker_agent.api.cluster_queue import FairSharing, FairSharingStatus, ResourceTotal, StopPolicy
from worker_agent.api.meta import Conditions, Object, Quantity, View
from worker_agent.api.resource_type import LOCAL_QUEUES
from worker_agent.api.schema import IMMUTABLE, Column, Crd, Field, Int32, SubdomainName


class LocalQueueSpec(View):
    cluster_queue: Annotated[
        SubdomainName, Field("The ClusterQueue behind it. Cannot be changed.", rules=(IMMUTABLE,))
    ] = ""
    stop_policy: Annotated[
        StopPolicy, Field("Hold: admit nothing new from here. HoldAndDrain: evict what runs, too.")
    ] = None
    fair_sharing: Annotated[
        FairSharing | None, Field("Weight among the LocalQueues of its ClusterQueue, for admission fair sharing.")
    ] = None


class LocalQueueFlavorUsage(View):
    """How much of one flavor is taken."""

    name: Annotated[SubdomainName, Field("The ResourceFlavor.", required=True)]
    resources: Annotated[
        list[ResourceTotal],
        Field("By resource.", required=True, max_items=64, list_type="map", list_map_keys=("name",)),
    ] = []


LocalQueueFlavorUsages = Annotated[
    list[LocalQueueFlavorUsage] | None, Field(max_items=64, list_type="map", list_map_keys=("name",))
]


class AdmissionFairSharingStatus(View):
    """Usage in the past, as admission fair sharing counts it."""

    consumed_resources: Annotated[dict[str, Quantity] | None, Field("Decayed usage by resource.", required=True)] = None
    last_update: Annotated[datetime | None, Field("When it was brought up to date.", required=True)] = None


class LocalQueueFairSharingStatus(FairSharingStatus):
    admission_fair_sharing_status: Annotated[
        AdmissionFairSharingStatus | None, Field("Usage in the past, where admission fair sharing is on.")
    ] = None


class LocalQueueStatus(View):
    conditions: Annotated[Conditions, Field("Active tells whether jobs may be submitted, and why not.")] = None
    pending_workloads: Annotated[Int32, Field("Workloads that wait for quota.")] = 0
    reserving_workloads: Annotated[Int32, Field("Workloads that hold quota.")] = 0
    admitted_workloads: Annotated[Int32, Field("Admitted workloads that have not finished.")] = 0
    flavors_reservation: Annotated[
        LocalQueueFlavorUsages, Field("Quota held by workloads that reserved it, admitted or not.")
    ] = None
    flavors_usage: Annotated[LocalQueueFlavorUsages, Field("Quota held by admitted workloads.")] = None
    fair_sharing: Annotated[LocalQueueFairSharingStatus | None, Field("What fair sharing sees.")] = None


class LocalQueue(Object):
    """The queue of a namespace: jobs name it, a ClusterQueue stands behind it."""

    crd: ClassVar[Crd | None] = Crd(
        LOCAL_QUEUES,
        short_names=("queue", "queues", "lq"),
        columns=(
            Column("ClusterQueue", "string", ".spec.clusterQueue", "The ClusterQueue behind it"),
            Column("Pending Workloads", "integer", ".status.pendingWorkloads", "Workloads that wait"),
            Column("Admitted Workloads", "integer", ".status.admittedWorkloads", "Admitted and not finished"),
        ),
        status=True,
    )

    spec: Annotated[LocalQueueSpec, Field("The queue behind it, and whether it is stopped.")] = msgspec.field(
        default_factory=LocalQueueSpec
    )
    status: Annotated[LocalQueueStatus, Field("What is taken and who waits.")] = msgspec.field(
        default_factory=LocalQueueStatus
    )
