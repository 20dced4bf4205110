"""Cohort: an inner node of the quota tree (cluster-scoped)."""

from typing import Annotated, ClassVar

import msgspec

from worker_agent.api.cluster_queue import FairSharing, FairSharingStatus, ResourceGroups
from worker_agent.api.meta import Object, View
from worker_agent.api.resource_type import COHORTS
from worker_agent.api.schema import Crd, Field, SubdomainName


class CohortSpec(View):
    parent_name: Annotated[
        SubdomainName, Field("The cohort above. Empty: this is a root. A cycle stops every queue in it.")
    ] = ""
    resource_groups: Annotated[
        ResourceGroups,
        Field("Quota of the cohort itself, which its members may borrow, and limits towards the parent."),
    ] = []
    fair_sharing: Annotated[FairSharing | None, Field("Weight in the parent, where fair sharing is on.")] = None


class CohortStatus(View):
    fair_sharing: Annotated[FairSharingStatus | None, Field("Share, where fair sharing is on.")] = None


class Cohort(Object):
    """A group of queues and cohorts that share quota. It exists already by being named."""

    crd: ClassVar[Crd | None] = Crd(COHORTS, short_names=("co",), status=True)

    spec: Annotated[CohortSpec, Field("Place in the tree, own quota and weight.")] = msgspec.field(
        default_factory=CohortSpec
    )
    status: Annotated[CohortStatus, Field("What fair sharing sees.")] = msgspec.field(default_factory=CohortStatus)
