"""ClusterCapacity: what one cluster can still take, written by its own agent for the hub (cluster-scoped, ``this``).

One small object (under 20 kB) instead of every node and pod: the hub turns it into physical room per flavor.
"""

from datetime import datetime
from typing import Annotated, ClassVar

import msgspec

from worker_agent.api.meta import Conditions, Object, Quantity, View
from worker_agent.api.pod import Taint
from worker_agent.api.resource_type import CLUSTER_CAPACITIES
from worker_agent.api.schema import AGE, Column, Crd, Field, Int32, SubdomainName

Vector = Annotated[dict[str, Quantity], Field(required=True)]


class EnginePolicy(View):
    """The switches by which the engine decides. Equal hash and version: equal decisions."""

    hash: Annotated[str, Field("Hash over all switches.", required=True, max_length=64)] = ""
    switches: Annotated[dict[str, str] | None, Field("The switches that are off their default.")] = None


class FlavorCapacity(View):
    """Quota of one resource in one flavor."""

    flavor: Annotated[SubdomainName, Field("The ResourceFlavor.", required=True)]
    resource: Annotated[str, Field("The resource.", required=True)]
    nominal: Annotated[Quantity, Field("Nominal quota.", required=True)] = "0"
    used: Annotated[Quantity, Field("Held by admitted workloads.", required=True)] = "0"
    reserved: Annotated[Quantity, Field("Held by workloads that reserved quota, admitted or not.", required=True)] = "0"
    borrowable: Annotated[
        Quantity | None, Field("What the queue could take from its cohort now; absent without a cohort.")
    ] = None


class ClusterQueueCapacity(View):
    """Quota and demand of one ClusterQueue."""

    name: Annotated[SubdomainName, Field("The ClusterQueue.", required=True)]
    cohort: Annotated[SubdomainName, Field("Its cohort.")] = ""
    active: Annotated[bool, Field("Whether it admits workloads.", required=True)] = True
    pending_workloads: Annotated[Int32, Field("Workloads that wait.", required=True, minimum=0)] = 0
    demand: Annotated[dict[str, Quantity] | None, Field("What they ask for in all, by resource.")] = None
    quotas: Annotated[
        list[FlavorCapacity] | None,
        Field("Quota by flavor and resource.", max_items=512, list_type="map", list_map_keys=("flavor", "resource")),
    ] = None


class FreeVector(View):
    """Nodes (or domains) with the same free resources."""

    free: Annotated[Vector, Field("Free resources of each.")]
    count: Annotated[Int32, Field("How many there are.", required=True, minimum=1)] = 1


class Gang(View):
    """The most pods of one shape that fit at once."""

    requests: Annotated[Vector, Field("Requests of one pod.")]
    count: Annotated[Int32, Field("How many fit.", required=True, minimum=0)] = 0


_FreeVectors = Annotated[list[FreeVector] | None, Field(max_items=256, list_type="atomic")]
_Gangs = Annotated[list[Gang] | None, Field(max_items=64, list_type="atomic")]


class LevelRoom(View):
    """Room at one level of a topology."""

    node_label: Annotated[str, Field("Node label of the level.", required=True, max_length=316)]
    domains: Annotated[_FreeVectors, Field("Domains by what is free in them, largest first.")] = None
    largest_gangs: Annotated[_Gangs, Field("What fits into one domain.")] = None


class LeafKind(View):
    """Leaves that are alike."""

    free: Annotated[Vector, Field("Free on each, beside pods that no topology placed.")]
    taints: Annotated[list[Taint] | None, Field("Taints that keep pods away.", list_type="atomic")] = None
    labels: Annotated[dict[str, str] | None, Field("Node labels, of those in labelKeys.")] = None


class LeafRoom(View):
    """Every leaf of a flavor's topology by name; what placed pods use there, their Workloads say."""

    kinds: Annotated[list[LeafKind] | None, Field("Kinds of leaves.", max_items=4096, list_type="atomic")] = None
    label_keys: Annotated[
        list[str] | None,
        Field(
            "Node labels that are told of every leaf. What selects by others is judged here alone.", list_type="atomic"
        ),
    ] = None
    runs: Annotated[
        list[str] | None,
        Field(
            "Leaves in the order of their paths, as runs: b1/r1/host-07+15 0 is host-07 to host-22 of kind 0. A value "
            "that is left out is that of the run before.",
            max_items=16384,
            list_type="atomic",
        ),
    ] = None


class FlavorRoom(View):
    """Room on the nodes of one flavor, whatever quota says."""

    flavor: Annotated[SubdomainName, Field("The ResourceFlavor.", required=True)]
    nodes: Annotated[Int32, Field("Ready nodes of the flavor.", required=True, minimum=0)] = 0
    free_nodes: Annotated[_FreeVectors, Field("Nodes by what is free on them, largest first.")] = None
    largest_nodes: Annotated[
        _FreeVectors,
        Field("Allocatable of the largest nodes, busy or not. A pod that none of them could hold never runs here."),
    ] = None
    largest_gangs: Annotated[_Gangs, Field("What fits onto all nodes together.")] = None
    levels: Annotated[
        list[LevelRoom] | None,
        Field("Room by level, from the widest.", max_items=16, list_type="map", list_map_keys=("nodeLabel",)),
    ] = None
    leaves: Annotated[
        LeafRoom | None, Field("The topology leaf by leaf; absent where that would take too much space.")
    ] = None


class LocalQueueUsage(View):
    """Usage of one LocalQueue in the past, as admission fair sharing counts it."""

    namespace: Annotated[str, Field("Namespace of the LocalQueue.", required=True, max_length=63)]
    name: Annotated[SubdomainName, Field("The LocalQueue.", required=True)]
    consumed_resources: Annotated[dict[str, Quantity] | None, Field("Decayed usage by resource.")] = None
    last_update: Annotated[datetime | None, Field("When it was brought up to date.")] = None


class ClusterCapacityStatus(View):
    agent_version: Annotated[str, Field("Version of the agent that wrote this.", max_length=64)] = ""
    engine_version: Annotated[str, Field("Version of the engine that decides in this cluster.", max_length=64)] = ""
    policy: Annotated[EnginePolicy | None, Field("The switches by which it decides.")] = None
    reported_at: Annotated[datetime | None, Field("When this was written.")] = None
    cluster_queues: Annotated[
        list[ClusterQueueCapacity] | None,
        Field("Quota and demand by ClusterQueue.", max_items=1000, list_type="map", list_map_keys=("name",)),
    ] = None
    flavors: Annotated[
        list[FlavorRoom] | None,
        Field("Physical room by flavor.", max_items=256, list_type="map", list_map_keys=("flavor",)),
    ] = None
    integrations: Annotated[
        list[str] | None, Field("Job kinds that the cluster runs, e.g. batch/job.", max_items=64, list_type="set")
    ] = None
    local_queue_usage: Annotated[
        list[LocalQueueUsage] | None,
        Field("Usage in the past.", max_items=1000, list_type="map", list_map_keys=("namespace", "name")),
    ] = None
    conditions: Annotated[Conditions, Field("What the agent says of its own report.")] = None


class ClusterCapacity(Object):
    """What this cluster can still take. Its agent writes it; nobody else should."""

    crd: ClassVar[Crd | None] = Crd(
        CLUSTER_CAPACITIES,
        short_names=("capacity",),
        columns=(
            Column("Agent", "string", ".status.agentVersion", "Version of the agent"),
            Column("Engine", "string", ".status.engineVersion", "Version of the engine"),
            Column("Reported", "date", ".status.reportedAt", "Time since the last report"),
            AGE,
        ),
        status=True,
    )

    status: Annotated[ClusterCapacityStatus, Field("The report.")] = msgspec.field(
        default_factory=ClusterCapacityStatus
    )
