"""Watches that begin with the objects there are (Kubernetes' streaming lists), in place of a list and a watch.

Such a watch sends each object as ADDED, then a bookmark that says so, and goes on with what changes. Pure: what came
until that bookmark, how long it may take, and what is to be concluded about a server that does not send it.
"""

from typing import Final

import msgspec

from worker_agent.kube import errors, watch
from worker_agent.kube.verbs import PAGE_SIZE, ListPage

END: Final = "k8s.io/initial-events-end"
PROOF_SECONDS: Final = 5.0
"""How long a server that has never sent such a bookmark may be silent before it counts as one that does not know them.
All known ones send it in milliseconds, on quiet servers too."""


class NoInitialEvents(Exception):
    """This server begins no watch with the objects there are: list them, ``for_good`` or this time."""

    def __init__(self, *, for_good: bool = True) -> None:
        super().__init__("no initial events")
        self.for_good = for_good


class Unfinished(errors.ServerSilent):
    """Objects came, or none, and then nothing that says they are all."""


class _Meta(msgspec.Struct):
    annotations: dict[str, str] | None = None


class _Bookmark(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


_CHANGES: Final = frozenset(watch.Change)
_bookmark_decoder = msgspec.json.Decoder(_Bookmark)


class Support:
    """What one client knows of its server: None until it has said or shown it.

    Releases before 1.32, and later ones with the feature off, refuse the question (422; other servers may say 400). One
    that is older than the parameter passes over it: an ordinary watch, which never says that everything was sent.
    """

    def __init__(self) -> None:
        self.known: bool | None = None

    @property
    def refused(self) -> bool:
        return self.known is False

    def silence(self, timeout: float) -> float:
        """Seconds without a byte until initial events count as unfinished."""
        return timeout if self.known else min(timeout, PROOF_SECONDS)

    def given(self) -> None:
        self.known = True

    def failed(self, error: BaseException) -> bool:
        """Whether ``error`` shows that there are none to be had. Silence shows it only of a server that never sent
        them: any other is out of reach."""
        ignored = isinstance(error, Unfinished) and self.known is None
        if ignored or isinstance(error, errors.BadRequest | errors.Invalid):
            self.known = False
        return self.refused


class InitialEvents:
    """Collects the objects with which a watch begins; nobody sees them before they are all there."""

    def __init__(self) -> None:
        self._objects: list[bytes] = []
        self._changes: list[tuple[str, bytes]] = []
        """From the first event on that is not about a new object: seldom any, and only they need names."""

    def take(self, batch: list[bytes]) -> tuple[ListPage, list[bytes]] | None:
        """All objects, and the lines of ``batch`` that come after them; None while there are more to come.

        Raises what ends the stream: an ApiError for an ERROR event, MalformedAnswer for something unreadable.
        """
        for position, text in enumerate(batch):
            line = watch.read_line(text)
            if line.type == "BOOKMARK":
                if _ends(line):
                    version = watch.head_of(line).metadata.resource_version
                    return ListPage(self._whole(), version), batch[position + 1 :]
            elif line.type == "ADDED" and not self._changes:
                self._objects.append(bytes(line.object))
            elif line.type in _CHANGES:
                self._changes.append((line.type, bytes(line.object)))
            else:
                raise errors.MalformedAnswer(f"watch: event of the unknown type {line.type!r}")
        return None

    def seconds(self, silence: float) -> float:
        """How long all of it may take by now: what a list in pages would be given."""
        return silence * (1 + (len(self._objects) + len(self._changes)) // PAGE_SIZE)

    def _whole(self) -> list[bytes]:
        if not self._changes:
            return self._objects
        found = {_name(raw): raw for raw in self._objects}
        for change, raw in self._changes:
            if change == watch.Change.DELETED:
                found.pop(_name(raw), None)
            else:
                found[_name(raw)] = raw
        return list(found.values())


def _ends(line: watch.Line) -> bool:
    try:
        bookmark = _bookmark_decoder.decode(line.object)
    except msgspec.DecodeError as error:
        raise errors.MalformedAnswer(f"watch: not a bookmark: {error}") from error
    return (bookmark.metadata.annotations or {}).get(END) == "true"


def _name(raw: bytes) -> tuple[str, str]:
    meta = watch.read_head(raw).metadata
    return meta.namespace, meta.name
