"""What a simulated node-group autoscaler answers to ProvisioningRequests, decided from the objects alone.

A request is taken up after a while, or refused; its nodes are there a while later; the room is booked for its pods
until the booking ends; nodes that nobody uses then go. ``check-capacity`` requests get room among the nodes there are,
all other classes get nodes. Requests are served in the order of their creation, each all or nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import msgspec

from hub.local.simulation import job_pods
from hub.local.simulation.placement import Demand, NodeRoom, Room, Unschedulable
from hub.local.simulation.shape import AUTOSCALED, AutoscalerRules, NodeGroup
from worker_agent.api import names, timestamps
from worker_agent.api.document import Document, at
from worker_agent.api.meta import Key
from worker_agent.api.pod import Node
from worker_agent.engine import intent_effects, workload_status
from worker_agent.engine.intents import SetCondition

CHECK_CAPACITY: Final = "check-capacity.autoscaling.x-k8s.io"
NODE_GROUP_DETAIL: Final = "nodeGroup"
"""Key of ``provisioningClassDetails``: the group of a request whose nodes are all of one."""


@dataclass(frozen=True, slots=True)
class AutoscalerView:
    """``demand`` gives what a bound pod holds; ``template_demand`` what a PodTemplate asks for, None while absent."""

    requests: Sequence[Document]
    pods: Sequence[Document]
    nodes: Sequence[Node]
    demand: Callable[[Document], Demand]
    template_demand: Callable[[Key], Demand | None]
    idle_since: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """Conditions to set on a request."""

    request: Document
    conditions: tuple[SetCondition, ...]
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AddNode:
    group: NodeGroup
    number: int


@dataclass(frozen=True, slots=True)
class RemoveNode:
    name: str


Step = Answer | AddNode | RemoveNode


@dataclass(slots=True)
class Decision:
    """``look_again``: the next instant at which time alone changes something."""

    steps: list[Step] = field(default_factory=list)
    idle_since: dict[str, datetime] = field(default_factory=dict)
    look_again: datetime | None = None

    def wait_until(self, instant: datetime) -> None:
        self.look_again = instant if self.look_again is None else min(self.look_again, instant)


@dataclass(slots=True)
class _World:
    """The room as it is filled request by request, and the nodes that would have to be added."""

    view: AutoscalerView
    groups: Sequence[NodeGroup]
    rules: AutoscalerRules
    now: datetime
    room: Room = field(default_factory=Room)
    taken: set[str] = field(default_factory=set)
    """Names of nodes that are there or promised."""
    needed: set[str] = field(default_factory=set)
    """Nodes with pods, or with room that is booked or promised."""
    out: Decision = field(default_factory=Decision)


def decide(view: AutoscalerView, groups: Sequence[NodeGroup], rules: AutoscalerRules, now: datetime) -> Decision:
    """One pass over all requests and nodes."""
    world = _World(view, groups, rules, now)
    alive = [request for request in view.requests if not _is_over(request)]
    if not alive and not any(node.metadata.label(AUTOSCALED) for node in view.nodes):
        return world.out  # Nothing to do costs nothing, however large the cluster.
    _fill(world)
    for request in sorted(alive, key=_order):
        _serve(world, request)
    _scale_down(world)
    return world.out


def _order(request: Document) -> tuple[bool, bool, str, str]:
    """What is booked comes before what was promised, and that before what is new."""
    metadata = request["metadata"]
    return (
        not _says(request, names.REQUEST_PROVISIONED),
        not _says(request, names.REQUEST_ACCEPTED),
        metadata.get("creationTimestamp", ""),
        metadata["name"],
    )


def _fill(world: _World) -> None:
    for node in world.view.nodes:
        world.room.put_node(node)
        world.taken.add(node.metadata.name)
    for pod in world.view.pods:
        node_name = pod["spec"].get("nodeName")
        if node_name and not job_pods.is_finished(pod):
            world.room.place(job_pods.uid(pod), node_name, world.view.demand(pod).requests)
            world.needed.add(node_name)


# -- requests --------------------------------------------------------------------------------------------------------


def _is_over(request: Document) -> bool:
    ends = (names.REQUEST_FAILED, names.REQUEST_BOOKING_EXPIRED, names.REQUEST_CAPACITY_REVOKED)
    return bool(request["metadata"].get("deletionTimestamp")) or any(_says(request, end) for end in ends)


def _serve(world: _World, request: Document) -> None:
    if _says(request, names.REQUEST_PROVISIONED):
        _keep_booked(world, request)
    elif _says(request, names.REQUEST_ACCEPTED):
        _provision(world, request)
    else:
        _take_up(world, request)


def _take_up(world: _World, request: Document) -> None:
    created = timestamps.parse(request["metadata"]["creationTimestamp"])
    if not _is_due(world, created, world.rules.accept_seconds):
        return
    attempt = int("".join(filter(str.isdigit, request["metadata"]["name"].rpartition("-")[2])) or 1)
    if attempt <= world.rules.refuse_attempts:
        told = f"attempt {attempt} is refused: this autoscaler refuses the first {world.rules.refuse_attempts}"
        _answer(world, request, (names.REQUEST_FAILED, "True", "Refused", told))
    elif _class(request) == CHECK_CAPACITY:
        accepted = (
            names.REQUEST_ACCEPTED,
            "True",
            "CapacityIsLookedFor",
            "Looking for room among the nodes there are.",
        )
        _answer(world, request, accepted)
        world.out.wait_until(world.now)
    else:
        plan = _place(world, request, world.groups)
        if isinstance(plan, Unschedulable):
            _answer(world, request, (names.REQUEST_FAILED, "True", "OutOfResources", plan.message))
        elif plan is not None:
            _promise(world, request, plan)


def _promise(world: _World, request: Document, plan: list[AddNode]) -> None:
    expected = world.now + timedelta(seconds=world.rules.provision_seconds)
    told = f"{len(plan)} node(s) are being added, expected at {timestamps.rfc3339(expected)}"
    world.out.wait_until(expected)
    _answer(
        world,
        request,
        (names.REQUEST_ACCEPTED, "True", "Accepted", "The request fits into the node groups."),
        (names.REQUEST_PROVISIONED, "False", "NodesAreAdded", told),
    )


def _provision(world: _World, request: Document) -> None:
    if _class(request) == CHECK_CAPACITY:
        _look_for_room(world, request)
        return
    plan = _place(world, request, world.groups)
    if plan is None or not _is_due(world, _since(request, names.REQUEST_ACCEPTED), world.rules.provision_seconds):
        return
    if isinstance(plan, Unschedulable):
        _answer(world, request, (names.REQUEST_FAILED, "True", "OutOfResources", plan.message))
    elif plan:
        world.out.steps += plan
    else:
        _book(world, request, "The nodes are there.")


def _look_for_room(world: _World, request: Document) -> None:
    plan = _place(world, request, ())
    if plan is None:
        return
    if not isinstance(plan, Unschedulable):
        _book(world, request, "Capacity is found in the cluster.")
    elif _is_due(world, _since(request, names.REQUEST_ACCEPTED), world.rules.give_up_seconds):
        _answer(world, request, (names.REQUEST_FAILED, "True", "CapacityIsNotFound", plan.message))
    else:
        told = f"Capacity is not found yet: {plan.message}"
        _answer(world, request, (names.REQUEST_PROVISIONED, "False", "CapacityIsNotFound", told))


def _book(world: _World, request: Document, message: str) -> None:
    asked = _asked(world, request) or ()
    nodes = {world.room.place_of(_uid(request, number)) for number in range(len(asked))}
    groups = {name.rpartition("-")[0] for name in nodes}
    details = {NODE_GROUP_DETAIL: groups.pop()} if len(groups) == 1 else {}
    provisioned = (names.REQUEST_PROVISIONED, "True", "Provisioned", message)
    _answer(world, request, provisioned, details=details)
    world.out.wait_until(world.now + timedelta(seconds=world.rules.booking_seconds))


def _keep_booked(world: _World, request: Document) -> None:
    if _is_due(world, _since(request, names.REQUEST_PROVISIONED), world.rules.booking_seconds):
        told = f"The room was booked for {world.rules.booking_seconds:g} s."
        _answer(world, request, (names.REQUEST_BOOKING_EXPIRED, "True", "BookingExpired", told))
    else:
        _place(world, request, ())


# -- room ------------------------------------------------------------------------------------------------------------


def _place(world: _World, request: Document, groups: Sequence[NodeGroup]) -> list[AddNode] | Unschedulable | None:
    """Reserve room for the request's pods that do not run yet; the nodes to add for that. None: templates are missing.

    When not all fit, nothing is reserved, and the answer says of which pods there is no room.
    """
    asked = _asked(world, request)
    if asked is None:
        return None
    placed: list[str] = []
    added: list[AddNode] = []
    for number, demand in enumerate(asked):
        choice = world.room.choose(demand)
        if isinstance(choice, Unschedulable):
            node = _new_node(world, groups, demand)
            if node is None:
                _undo(world, placed, added)
                told = f"room was found for {number} of {len(asked)} pods; {choice.message}"
                return Unschedulable(told)
            added.append(node)
            choice = _node_name(node)
        uid = _uid(request, number)
        world.room.place(uid, choice, demand.requests)
        placed.append(uid)
    world.needed |= {name for name in map(world.room.place_of, placed) if name}
    return added


def _uid(request: Document, number: int) -> str:
    """Stands for the n-th pod of a request that does not exist yet."""
    return f"{request['metadata'].get('uid', '')}/{number}"


def _undo(world: _World, placed: Iterable[str], added: Iterable[AddNode]) -> None:
    for uid in placed:
        world.room.lift(uid)
    for node in added:
        world.room.remove_node(_node_name(node))
        world.taken.discard(_node_name(node))


def _asked(world: _World, request: Document) -> list[Demand] | None:
    demands: list[Demand] = []
    namespace = request["metadata"].get("namespace", "")
    for entry in at(request, ("spec", "podSets"), []):
        demand = world.view.template_demand(Key(namespace, at(entry, ("podTemplateRef", "name"), "")))
        if demand is None:
            return None
        demands += [demand] * int(entry.get("count", 0))
    running = sum(1 for pod in world.view.pods if _consumes(pod, request) and pod["spec"].get("nodeName"))
    return demands[running:]


def _consumes(pod: Document, request: Document) -> bool:
    metadata = pod["metadata"]
    return bool(
        (metadata.get("annotations") or {}).get(names.CONSUME_REQUEST_ANNOTATION) == request["metadata"]["name"]
        and metadata.get("namespace") == request["metadata"].get("namespace")
    )


def _new_node(world: _World, groups: Sequence[NodeGroup], demand: Demand) -> AddNode | None:
    """One more node of the first group that takes the pod; it counts as there from now on."""
    for group in groups:
        for number in range(group.count, group.max_count):
            node = AddNode(group, number)
            if _node_name(node) in world.taken:
                continue
            made = msgspec.convert(group.added(number, world.now), Node)
            if _empty(made).refusal(demand):
                break
            world.room.put_node(made)
            world.taken.add(made.metadata.name)
            return node
    return None


def _empty(node: Node) -> NodeRoom:
    alone = Room()
    alone.put_node(node)
    return alone.node(node.metadata.name)


def _node_name(node: AddNode) -> str:
    return f"{node.group.name}-{node.number}"


# -- nodes -----------------------------------------------------------------------------------------------------------


def _scale_down(world: _World) -> None:
    """Nodes that an autoscaler added, that no pod uses and nobody has booked, go after a while."""
    for node in world.view.nodes:
        name = node.metadata.name
        if not node.metadata.label(AUTOSCALED) or name in world.needed:
            continue
        since = world.view.idle_since.get(name, world.now)
        world.out.idle_since[name] = since
        if _is_due(world, since, world.rules.idle_seconds):
            world.out.steps.append(RemoveNode(name))


# -- words -----------------------------------------------------------------------------------------------------------


def _answer(
    world: _World, request: Document, *told: tuple[str, str, str, str], details: Mapping[str, str] | None = None
) -> None:
    conditions = tuple(SetCondition(*row) for row in told)
    world.out.steps.append(Answer(request, conditions, details or {}))


def _is_due(world: _World, since: datetime, seconds: float) -> bool:
    at_instant = since + timedelta(seconds=seconds)
    if at_instant <= world.now:
        return True
    world.out.wait_until(at_instant)
    return False


def _since(request: Document, condition: str) -> datetime:
    return workload_status.since(request, condition)


def _says(request: Document, condition: str) -> bool:
    found = intent_effects.find_condition(request, condition)
    return found is not None and found.get("status") == "True"


def _class(request: Document) -> str:
    return str(at(request, ("spec", "provisioningClassName"), ""))
