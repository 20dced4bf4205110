"""Logs of pods. Nothing runs here, so what a simulated container wrote is made up of what its status tells: a line when
it started, one for each second that it ran, and one when it ended. The same lines come out whenever they are read.

Source of refusals: kubernetes pkg/registry/core/pod (LogLocation) and pkg/kubelet (validateContainerLogStatus).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hub.local.apiserver import failure, reading
from hub.local.apiserver.answer import Answer
from hub.local.apiserver.call import Call
from hub.local.apiserver.metadata import timestamp
from hub.local.apiserver.request_path import flag
from hub.local.apiserver.store import State
from worker_agent.api import document as documents
from worker_agent.api import timestamps
from worker_agent.api.document import Document

TEXT = "text/plain"
KEPT_SECONDS = 3600
"""How far back the lines of a container go that runs for long: a kubelet rotates logs too."""


@dataclass(frozen=True, slots=True)
class Run:
    """One life of a container: when it started, and when and how it ended."""

    started: datetime
    finished: datetime | None = None
    exit_code: int = 0


@dataclass(slots=True)
class LogRead:
    """A log being read. ``read`` gives what is new at ``now``; ``over`` says that nothing more can come."""

    state: State
    store: str
    namespace: str
    pod: str
    uid: str
    container: str
    follow: bool
    timestamps: bool
    first: datetime
    """Lines from before are left out."""
    tail: int | None
    limit: int | None
    over: bool = False
    _sent: int = 0
    _number: int = field(default=-1)
    """The last line that was given."""
    _run: Run | None = None

    def start(self, run: Run, now: datetime) -> bytes:
        """What there is so far."""
        self._run = run
        lines = [line for line in self._lines(run, now) if line[1] >= self.first]
        if lines:
            self._number = lines[-1][0]
        if self.tail is not None:
            lines = lines[-self.tail :] if self.tail else []
        self.over = not self.follow or run.finished is not None
        return self._written(lines)

    def read(self, now: datetime) -> bytes:
        """What came since, up to the container's end; the pod may be gone."""
        run = self._run
        if run is None or self.over:
            return b""
        stored = self.state.get(self.store, self.namespace, self.pod)
        pod = stored.document() if stored is not None else None
        found = _run(pod, self.container, previous=False) if pod and pod["metadata"].get("uid") == self.uid else None
        if found is None or found.started != run.started:
            self.over = True
            return b""
        lines = [line for line in self._lines(found, now) if line[0] > self._number]
        if lines:
            self._number = lines[-1][0]
        self.over = self.over or found.finished is not None
        return self._written(lines)

    def seconds_to_next(self, now: datetime) -> float:
        """Until the next line is due."""
        run = self._run
        if run is None:
            return 0.0
        return (run.started + timedelta(seconds=self._number + 1) - now).total_seconds()

    def _lines(self, run: Run, now: datetime) -> Iterator[tuple[int, datetime, str]]:
        end = run.finished or now
        whole = max(0, int((end - run.started).total_seconds()))
        what = f"{self.namespace}/{self.pod}"
        for number in range(max(0, whole - KEPT_SECONDS), whole + 1):
            at = run.started + timedelta(seconds=number)
            text = f"second {number}" if number else f"container {self.container} of pod {what} started (simulated)"
            yield number, at, text
        if run.finished is not None:
            yield whole + 1, run.finished, f"container {self.container} ended with exit code {run.exit_code}"

    def _written(self, lines: list[tuple[int, datetime, str]]) -> bytes:
        text = "".join(f"{timestamp(at)} {line}\n" if self.timestamps else f"{line}\n" for _, at, line in lines)
        raw = text.encode()
        if self.limit is not None and self._sent + len(raw) >= self.limit:
            raw, self.over = raw[: self.limit - self._sent], True
        self._sent += len(raw)
        return raw


def read(call: Call) -> Answer:
    """The log that a request asks for, from a pod that is on a node or on none."""
    pod = reading.find(call).document()
    container = _container(pod, call.query.get("container", ""))
    previous = bool(flag(call.query, "previous"))
    if not documents.get(pod, "spec.nodeName", ""):
        return Answer(204, content_type="")  # nothing ran, so nothing was written
    run = _run(pod, container, previous=previous)
    if run is None:
        raise failure.bad_request(_why_not(pod, container, previous=previous))
    target = call.target
    made = LogRead(
        call.state,
        target.resource.store,
        target.namespace,
        target.name,
        pod["metadata"].get("uid", ""),
        container,
        follow=bool(flag(call.query, "follow")) and not previous,
        timestamps=bool(flag(call.query, "timestamps")),
        first=_first(call.query, run, call.now),
        tail=_count(call.query, "tailLines", 0),
        limit=_count(call.query, "limitBytes", 1),
    )
    body = made.start(run, call.now)
    return Answer(200, body, log=None if made.over else made, content_type=TEXT)


def _container(pod: Document, asked: str) -> str:
    spec = pod["spec"]
    names = [str(container["name"]) for container in spec.get("containers") or ()]
    everything = [*(str(container["name"]) for container in spec.get("initContainers") or ()), *names]
    name = pod["metadata"]["name"]
    if not asked and len(names) > 1:
        choice = " ".join(everything)
        raise failure.bad_request(f"a container name must be specified for pod {name}, choose one of: [{choice}]")
    if asked and asked not in everything:
        raise failure.bad_request(f"container {asked} is not valid for pod {name}")
    return asked or (names[0] if names else "")


def _status(pod: Document, container: str) -> Document:
    status = pod.get("status") or {}
    both = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    return next((found for found in both if found.get("name") == container), {})


def _run(pod: Document, container: str, *, previous: bool) -> Run | None:
    """The life of a container that is asked about; None where there was none."""
    status = _status(pod, container)
    state, last = status.get("state") or {}, status.get("lastState") or {}
    if previous:
        return _ended(last)
    running = documents.get(state, "running.startedAt", "")
    started = timestamps.parse(running) if running else None
    if started is not None:
        return Run(started)
    return _ended(state) or _ended(last)


def _ended(state: Mapping[str, Document]) -> Run | None:
    told = state.get("terminated")
    started = timestamps.parse(told.get("startedAt", "")) if told and told.get("startedAt") else None
    if told is None or started is None:
        return None
    return Run(started, timestamps.parse(told.get("finishedAt") or told["startedAt"]), told.get("exitCode", 0))


def _why_not(pod: Document, container: str, *, previous: bool) -> str:
    name = pod["metadata"]["name"]
    if previous:
        return f'previous terminated container "{container}" in pod "{name}" not found'
    reason = documents.get(_status(pod, container), "state.waiting.reason", "") or "ContainerCreating"
    return f'container "{container}" in pod "{name}" is waiting to start: {reason}'


def _first(query: Mapping[str, str], run: Run, now: datetime) -> datetime:
    seconds = _count(query, "sinceSeconds", 1)
    if seconds is not None:
        try:
            return now - timedelta(seconds=seconds)
        except OverflowError:
            return run.started  # before all calendars
    if query.get("sinceTime"):
        try:
            return timestamps.parse(query["sinceTime"])
        except ValueError as error:
            raise failure.bad_request(f"sinceTime: {error}") from None
    return run.started


def _count(query: Mapping[str, str], name: str, least: int) -> int | None:
    value = query.get(name)
    if not value:
        return None
    try:
        number = int(value)
    except ValueError:
        raise failure.bad_request(f"{name}: Invalid value: {value!r}: must be an integer") from None
    if number < least:
        raise failure.bad_request(f"{name}: Invalid value: {number}: must be greater than or equal to {least}")
    return number
