"""Object metadata, conditions and references: what every Kubernetes object carries.

Every Struct here is a typed *view*: unknown fields are ignored on decoding and the document the bytes came from
stays the truth. Nothing is written back by re-encoding one of these (DESIGN section 3).
"""

from datetime import datetime
from typing import Annotated, ClassVar

import msgspec

from worker_agent.api.schema import CONDITION_REASON, QUALIFIED_NAME, Crd, Field, Int64

Quantity = str | int | float
"""A Kubernetes quantity as it stands in JSON: a string such as "500m", or a bare number."""


class View(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True, gc=False):
    """Base of every typed view: camelCase on the wire, absent fields take their defaults."""

    schema: ClassVar[Field] = Field()
    """What the definition says of the object itself, such as its rules."""


class OwnerReference(View):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(View):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    generate_name: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerReference] | None = None

    @property
    def key(self) -> "Key":
        return Key(self.namespace, self.name)

    def label(self, name: str) -> str:
        return (self.labels or {}).get(name, "")

    def annotation(self, name: str) -> str:
        return (self.annotations or {}).get(name, "")

    @property
    def controller(self) -> OwnerReference | None:
        return next((owner for owner in self.owner_references or () if owner.controller), None)


class Key(tuple[str, str]):
    """Namespace and name of an object; cluster-scoped objects have an empty namespace. Prints as ``ns/name``."""

    __slots__ = ()

    def __new__(cls, namespace: str, name: str) -> "Key":
        return tuple.__new__(cls, (namespace, name))

    @property
    def namespace(self) -> str:
        return self[0]

    @property
    def name(self) -> str:
        return self[1]

    @classmethod
    def parse(cls, text: str) -> "Key":
        namespace, _, name = text.rpartition("/")
        return cls(namespace, name)

    def __str__(self) -> str:
        return f"{self[0]}/{self[1]}"


class Condition(View, omit_defaults=False):
    """One observation about an object, with the time it last changed."""

    type: Annotated[
        str, Field("Which observation this is, in CamelCase.", required=True, max_length=316, pattern=QUALIFIED_NAME)
    ]
    status: Annotated[
        str, Field("Whether it holds: True, False or Unknown.", required=True, enum=("True", "False", "Unknown"))
    ] = "Unknown"
    reason: Annotated[
        str,
        Field(
            "Why, as one CamelCase word for programs.",
            required=True,
            min_length=1,
            max_length=1024,
            pattern=CONDITION_REASON,
        ),
    ] = ""
    message: Annotated[str, Field("Why, in words for people.", required=True, max_length=32768)] = ""
    last_transition_time: Annotated[
        datetime | None, Field("When the status last changed from one value to another.", required=True)
    ] = None
    observed_generation: Annotated[
        Int64, Field("The metadata.generation that this observation was made of.", minimum=0)
    ] = 0

    @property
    def is_true(self) -> bool:
        return self.status == "True"

    @property
    def is_false(self) -> bool:
        return self.status == "False"


Conditions = Annotated[list[Condition] | None, Field(max_items=16, list_type="map", list_map_keys=("type",))]


class LabelSelectorRequirement(View):
    """One condition on the labels."""

    key: Annotated[str, Field("The label it looks at.", required=True)]
    operator: Annotated[str, Field("In, NotIn, Exists or DoesNotExist.", required=True)]
    values: Annotated[
        list[str] | None, Field("Values for In and NotIn; empty for the other two.", list_type="atomic")
    ] = None


class LabelSelector(View):
    """Takes the objects whose labels meet every condition. An empty one takes all."""

    schema = Field(map_type="atomic")

    match_labels: Annotated[dict[str, str] | None, Field("Labels that must have exactly these values.")] = None
    match_expressions: Annotated[
        list[LabelSelectorRequirement] | None, Field("Further conditions.", list_type="atomic")
    ] = None


class Object(View):
    """The part of any object that generic code reads."""

    crd: ClassVar[Crd | None] = None
    """What the kind's definition says besides its schema; None for kinds that Kubernetes defines."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class Namespace(Object):
    """core/v1 Namespace: its labels are matched against ClusterQueue selectors."""
