"""ProvisioningRequestConfig: how an AdmissionCheck asks an autoscaler for room (cluster-scoped)."""

from typing import Annotated, ClassVar

import msgspec

from worker_agent.api.meta import Object, View
from worker_agent.api.resource_type import PROVISIONING_REQUEST_CONFIGS
from worker_agent.api.schema import QUALIFIED_NAME, Crd, Field, Int32, SubdomainName


class ProvisioningRequestRetryStrategy(View):
    """How often, and after which waits, a failed request is made again."""

    backoff_limit_count: Annotated[Int32, Field("Retries before the check is rejected.", default=3)] = 3
    backoff_base_seconds: Annotated[Int32, Field("The first wait; each further one doubles.", default=60)] = 60
    backoff_max_seconds: Annotated[Int32, Field("The longest wait.", default=1800)] = 1800


class PodSetUpdatesNodeSelector(View):
    """One label of the pods' node selector, taken from the request's answer."""

    key: Annotated[str, Field("The node label.", required=True, min_length=1, max_length=317, pattern=QUALIFIED_NAME)]
    value_from_provisioning_class_detail: Annotated[
        str,
        Field(
            "The key of provisioningClassDetails that holds the value.", required=True, min_length=1, max_length=32768
        ),
    ] = ""


class ProvisioningRequestPodSetUpdates(View):
    """What the answer changes in the pods."""

    node_selector: Annotated[
        list[PodSetUpdatesNodeSelector] | None,
        Field("Labels added to the node selector.", max_items=8, list_type="map", list_map_keys=("key",)),
    ] = None


class ProvisioningRequestConfigSpec(View):
    provisioning_class_name: Annotated[
        SubdomainName, Field("The class of the ProvisioningRequests made.", required=True, min_length=1)
    ] = ""
    parameters: Annotated[
        dict[str, Annotated[str, Field(max_length=255)]] | None,
        Field("Parameters passed on to the class.", max_properties=100),
    ] = None
    managed_resources: Annotated[
        list[str] | None,
        Field("Only pod sets that request one of these are asked for; empty is all.", max_items=100, list_type="set"),
    ] = None
    retry_strategy: Annotated[
        ProvisioningRequestRetryStrategy | None,
        Field(
            "What follows a failed request.",
            default={"backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800},
        ),
    ] = None
    pod_set_updates: Annotated[
        ProvisioningRequestPodSetUpdates | None, Field("What the answer changes in the pods.")
    ] = None
    pod_set_merge_policy: Annotated[
        str | None,
        Field(
            "Which pod sets are asked for as one.",
            enum=("IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"),
        ),
    ] = None


class ProvisioningRequestConfig(Object):
    """Settings of an AdmissionCheck that asks an autoscaler for nodes."""

    crd: ClassVar[Crd | None] = Crd(PROVISIONING_REQUEST_CONFIGS, short_names=("prc",))

    spec: Annotated[ProvisioningRequestConfigSpec, Field("How requests are made.")] = msgspec.field(
        default_factory=ProvisioningRequestConfigSpec
    )
