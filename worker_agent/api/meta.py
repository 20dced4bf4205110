"""Object metadata, conditions and references: what every Kubernetes object carries.

Every Struct here is a typed *view*: unknown fields are ignored on decoding and the document the bytes came from
stays the truth. Nothing is written back by re-encoding one of these (DESIGN section 3).
"""

from datetime import datetime

import msgspec

Quantity = str | int
"""A Kubernetes quantity as it stands in JSON: a string such as "500m", or a bare integer."""


class View(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Base of every typed view: camelCase on the wire, absent fields take their defaults."""


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
    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int = 0

    @property
    def is_true(self) -> bool:
        return self.status == "True"

    @property
    def is_false(self) -> bool:
        return self.status == "False"


class LabelSelectorRequirement(View):
    key: str
    operator: str
    values: list[str] | None = None


class LabelSelector(View):
    match_labels: dict[str, str] | None = None
    match_expressions: list[LabelSelectorRequirement] | None = None


class Object(View):
    """The part of any object that generic code reads."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class Namespace(Object):
    """core/v1 Namespace: its labels are matched against ClusterQueue selectors."""
