"""Where the pods of a pod set go: a compact list of topology domains and pod counts.

Domains come in slices; in a slice, a level's values are one value for all domains, or a root per domain between a
common prefix and suffix. A million nodes thus fit into one object.
"""

from typing import Annotated

import msgspec

from worker_agent.api.meta import View
from worker_agent.api.schema import Field, Int32, Rule

MAX_DOMAINS_OF_SLICE = 100_000

_Value = Annotated[str, Field(max_length=63)]
_Count = Annotated[Int32, Field(minimum=1)]


class IndividualValues(View):
    """One value per domain: prefix, root and suffix joined."""

    prefix: Annotated[_Value | None, Field("What all values begin with.", max_length=63)] = None
    suffix: Annotated[_Value | None, Field("What all values end with.", max_length=63)] = None
    roots: Annotated[
        list[_Value],
        Field(
            "What stands between, one per domain.",
            required=True,
            min_items=1,
            max_items=MAX_DOMAINS_OF_SLICE,
            list_type="atomic",
        ),
    ] = []


class LevelValues(View):
    """The values of one level."""

    schema = Field(
        rules=(
            Rule(
                "has(self.universal) != has(self.individual)",
                "exactly one of the fields in [universal individual] must be set",
            ),
        )
    )

    universal: Annotated[str | None, Field("The one value of all domains.", max_length=63)] = None
    individual: Annotated[IndividualValues | None, Field("A value per domain.")] = None


class PodCounts(View):
    """How many pods go to each domain."""

    schema = Field(
        rules=(
            Rule(
                "[has(self.universal),has(self.individual)].filter(x,x==true).size() == 1",
                "exactly one of the fields in [universal individual] must be set",
            ),
        )
    )

    universal: Annotated[Int32 | None, Field("The same number everywhere.", minimum=1)] = None
    individual: Annotated[
        list[_Count] | None,
        Field("A number per domain.", min_items=1, max_items=MAX_DOMAINS_OF_SLICE, list_type="atomic"),
    ] = None


class TopologyAssignmentSlice(View):
    """Some of the domains."""

    schema = Field(
        rules=(
            Rule(
                "!has(self.podCounts.individual) || size(self.podCounts.individual) == self.domainCount",
                "podCounts.individual must have length equal to domainCount",
            ),
            Rule(
                "self.valuesPerLevel.all(x, !has(x.individual) || size(x.individual.roots) == self.domainCount)",
                "valuesPerLevel.individual, if set, must have roots of length equal to domainCount of this "
                "TopologyAssignmentSlice",
            ),
        )
    )

    domain_count: Annotated[Int32, Field("The number of domains in this slice.", required=True, minimum=1)] = 1
    values_per_level: Annotated[
        list[LevelValues],
        Field("Per level, the values of the domains.", required=True, min_items=1, max_items=16, list_type="atomic"),
    ] = []
    pod_counts: Annotated[PodCounts, Field("Pods per domain.", required=True)] = msgspec.field(
        default_factory=PodCounts
    )


class TopologyAssignment(View):
    """All domains that a pod set's pods go to."""

    schema = Field(
        rules=(
            Rule(
                "self.slices.all(x, size(x.valuesPerLevel) == size(self.levels))",
                "valuesPerLevel must have the same length as the number of levels in this TopologyAssignment",
            ),
        )
    )

    levels: Annotated[
        list[Annotated[str, Field(max_length=317)]],
        Field("Node labels of the levels named here.", required=True, min_items=1, max_items=16, list_type="atomic"),
    ] = []
    slices: Annotated[
        list[Annotated[msgspec.Raw, Field(view=TopologyAssignmentSlice)]],
        Field(
            "The domains; kept undecoded until someone places pods.", required=True, max_items=1000, list_type="atomic"
        ),
    ] = []
