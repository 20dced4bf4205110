"""LocalQueue in v1beta1: usage under another name, and a list of flavors that is not written any more."""

from typing import Annotated, Final

from worker_agent.api import structural_schema
from worker_agent.api.document import Document
from worker_agent.api.local_queue import LocalQueueStatus
from worker_agent.api.meta import View
from worker_agent.api.resource_type import LOCAL_QUEUES
from worker_agent.api.schema import Field, SubdomainName
from worker_agent.api.versions.fields import renamed, within, without
from worker_agent.api.versions.old_version import OldVersion, Rewrites
from worker_agent.api.versions.schema_changes import Change


class _Taint(View):
    """What keeps pods off its nodes."""

    key: Annotated[str, Field("Key of the taint.", required=True)] = ""
    value: Annotated[str, Field("Value of the taint.")] = ""
    effect: Annotated[str, Field("What it does to pods that do not tolerate it.", required=True)] = ""
    time_added: Annotated[str, Field("When it was put on.", format="date-time")] = ""


class _Topology(View):
    """How its nodes are arranged."""

    name: Annotated[SubdomainName, Field("The Topology.", required=True)] = ""
    levels: Annotated[
        list[str], Field("Node labels of its levels.", required=True, min_items=1, max_items=16, list_type="atomic")
    ] = []


class _Flavor(View):
    """A flavor that the queue can use."""

    name: Annotated[SubdomainName, Field("The ResourceFlavor.", required=True)] = ""
    resources: Annotated[list[str], Field("The resources it gives.", max_items=64, list_type="set")] = []
    node_labels: Annotated[dict[str, str], Field("Labels of its nodes.", max_properties=8, map_type="atomic")] = {}
    node_taints: Annotated[list[_Taint], Field("Taints of its nodes.", max_items=8, list_type="atomic")] = []
    topology: Annotated[_Topology | None, Field("How its nodes are arranged.")] = None


class _Flavors(View):
    flavors: Annotated[
        list[_Flavor],
        Field("Not written any more.", max_items=64, list_type="map", list_map_keys=("name",)),
    ] = []


def _forget(document: Document) -> Document:
    return within(document, "status", lambda status: without(status, "flavors"))


def _to_v1beta2(document: Document) -> Document:
    return within(_forget(document), "status", lambda status: renamed(status, "flavorUsage", "flavorsUsage"))


def _to_v1beta1(document: Document) -> Document:
    return within(document, "status", lambda status: renamed(status, "flavorsUsage", "flavorUsage"))


OLD_VERSION: Final = OldVersion(
    LOCAL_QUEUES,
    changes=(
        Change("status.conditions", keywords={"maxItems": None}),
        Change(
            "status",
            fields={
                "flavors": structural_schema.of_view(_Flavors)["properties"]["flavors"],
                "flavorUsage": structural_schema.of_view(LocalQueueStatus)["properties"]["flavorsUsage"],
                "flavorsUsage": None,
            },
        ),
    ),
    rewrites=Rewrites(_to_v1beta2, _to_v1beta1, _forget),
)
