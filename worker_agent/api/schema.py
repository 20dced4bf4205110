"""How a typed view states the schema of its CustomResourceDefinition: ``Annotated[type, Field("what it means", ...)]``.

Decoding never looks at any of this (a view must read whatever a server holds); ``crds`` turns it into manifests.
Several Fields on one type add up, the later winning, so that an alias carries limits and its use carries the words.
"""

from dataclasses import KW_ONLY, dataclass, fields
from typing import Annotated, Any, Final

from worker_agent.api.resource_type import ResourceType

UNSET: Final = object()

DNS_LABEL: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
QUALIFIED_NAME: Final = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
CONDITION_REASON: Final = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
QUANTITY: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
QUANTITY_SCHEMA: Final = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": QUANTITY,
    "x-kubernetes-int-or-string": True,
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule over ``self`` (and ``oldSelf`` on updates) and what the user is told when it is false."""

    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Field:
    """Documentation and limits of one field, or of every use of a type."""

    doc: str = ""
    _: KW_ONLY
    required: bool = False
    default: Any = UNSET
    enum: tuple[str, ...] = ()
    format: str = ""
    pattern: str = ""
    minimum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    max_properties: int | None = None
    list_type: str = ""
    list_map_keys: tuple[str, ...] = ()
    map_type: str = ""
    rules: tuple[Rule, ...] = ()
    view: type | None = None
    """The view that describes a field kept as Raw."""
    builtin: str = ""
    """The OpenAPI name of a Kubernetes type that describes a field kept as Raw."""

    def merged(self, other: "Field") -> "Field":
        """Both together; where both say something, ``other`` wins, except that rules add up."""
        mine = {f.name: getattr(self, f.name) for f in fields(self)}
        theirs = {f.name: getattr(other, f.name) for f in fields(other) if getattr(other, f.name) != f.default}
        rules = self.rules + other.rules
        return Field(**{**mine, **theirs, "rules": rules})


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ``kubectl get``; ``priority`` 1 shows it with ``-o wide`` only."""

    name: str
    type: str
    json_path: str
    doc: str
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Crd:
    """What a kind's definition says besides its schema."""

    resource: ResourceType
    short_names: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    status: bool = False
    """Whether it has the status subresource."""
    selectable_fields: tuple[str, ...] = ()


IMMUTABLE: Final = Rule("self == oldSelf", "field is immutable")
AGE: Final = Column("Age", "date", ".metadata.creationTimestamp", "Time since the object was created")

Int32 = Annotated[int, Field(format="int32")]
Int64 = Annotated[int, Field(format="int64")]
SubdomainName = Annotated[str, Field(max_length=253, pattern=DNS_SUBDOMAIN)]
PodSetName = Annotated[str, Field(max_length=63, pattern=DNS_LABEL)]
ClusterName = Annotated[str, Field(max_length=256)]
