"""ProvisioningRequest (autoscaling.x-k8s.io/v1): how an autoscaler is asked for room, and what it answers.

The definition belongs to the autoscaler's project; ours stands in for it in simulated clusters.
"""

from typing import Annotated, ClassVar

import msgspec

from worker_agent.api.meta import Conditions, Object, View
from worker_agent.api.resource_type import PROVISIONING_REQUESTS
from worker_agent.api.schema import AGE, IMMUTABLE, Column, Crd, Field, Int32, SubdomainName


class PodTemplateReference(View):
    name: Annotated[SubdomainName, Field("A PodTemplate in the request's namespace.", required=True, min_length=1)] = ""


class RequestedPodSet(View):
    """So many pods of one shape."""

    pod_template_ref: Annotated[PodTemplateReference, Field("The shape.", required=True)] = msgspec.field(
        default_factory=PodTemplateReference
    )
    count: Annotated[Int32, Field("How many.", required=True, minimum=1)] = 0


class ProvisioningRequestSpec(View):
    schema = Field(rules=(IMMUTABLE,))

    pod_sets: Annotated[
        list[RequestedPodSet],
        Field("The pods that room is asked for, all or none.", required=True, min_items=1, max_items=32),
    ] = []
    provisioning_class_name: Annotated[
        SubdomainName, Field("In which way room is to be found.", required=True, min_length=1)
    ] = ""
    parameters: Annotated[
        dict[str, Annotated[str, Field(max_length=255)]] | None,
        Field("What the class wants to know besides.", max_properties=100),
    ] = None


class ProvisioningRequestStatus(View):
    conditions: Annotated[Conditions, Field("Accepted, Provisioned, Failed, BookingExpired and CapacityRevoked.")] = (
        None
    )
    provisioning_class_details: Annotated[
        dict[str, Annotated[str, Field(max_length=32768)]] | None,
        Field("What the class has to tell besides.", max_properties=64),
    ] = None


def _condition(type_: str, doc: str) -> Column:
    return Column(type_, "string", f".status.conditions[?(@.type=='{type_}')].status", doc)


class ProvisioningRequest(Object):
    """A question to an autoscaler: is there room for these pods, or can there be?"""

    crd: ClassVar[Crd | None] = Crd(
        PROVISIONING_REQUESTS,
        short_names=("provreq", "provreqs"),
        columns=(
            _condition("Accepted", "Whether the autoscaler has taken it up"),
            _condition("Provisioned", "Whether the room is there"),
            _condition("Failed", "Whether it was refused for good"),
            AGE,
        ),
        status=True,
    )

    spec: Annotated[ProvisioningRequestSpec, Field("The pods that room is asked for.", required=True)] = msgspec.field(
        default_factory=ProvisioningRequestSpec
    )
    status: Annotated[ProvisioningRequestStatus, Field("The answer.")] = msgspec.field(
        default_factory=ProvisioningRequestStatus
    )
