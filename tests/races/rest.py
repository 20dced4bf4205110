"""What is wrong with the state of a cluster at rest: compared with what users asked for, and with itself."""

from collections.abc import Iterable, Mapping

from tests.faults.model import cpu_of, is_true
from tests.races.subjects import Subject, value_at
from tests.races.wishes import Wish
from tests.races.world import World
from worker_agent.api import names, quantity
from worker_agent.api.document import Document
from worker_agent.api.document import get as at_path
from worker_agent.api.resource_type import PODS, WORKLOADS

ENDED = ("Succeeded", "Failed")


def wrong(world: World, wishes: Mapping[str, Wish]) -> dict[str, list[str]]:
    """By subject; empty when all is as it was asked for and nothing is left or taken twice."""
    found = {label: list(_of_subject(world, wish)) for label, wish in wishes.items()}
    found["cluster"] = list(_of_cluster(world))
    return {label: problems for label, problems in found.items() if problems}


def left(world: World, wishes: Mapping[str, Wish]) -> dict[str, list[str]]:
    """What is still there after every user deleted everything."""
    found = {label: list(_remains(world, wish)) for label, wish in wishes.items()}
    found["cluster"] = [f"Workload {each['metadata']['name']} is left" for each in world.all(WORKLOADS)]
    found["cluster"] += [f"pod {each['metadata']['name']} is left" for each in world.all(PODS)]
    found["cluster"] += _of_cluster(world)
    return {label: problems for label, problems in found.items() if problems}


def _of_subject(world: World, wish: Wish) -> Iterable[str]:
    if not wish.wanted:
        yield from _remains(world, wish)
        return
    subject = wish.subject
    for name in wish.names:
        found = world.one(subject.kind.resource, name)
        if found is None:
            if not (subject.of_pods and wish.evicted):
                yield f"{name} is lost"
            continue
        for pointer, value in wish.asked.items() if name == wish.names[0] else ():
            if value_at(found, pointer) != value:
                yield f"{name}: {pointer} is {value_at(found, pointer)!r}, and {value!r} was asked for"
        yield from _state(subject, world.joined(subject.kind, found), wish)


def _state(subject: Subject, found: Document, wish: Wish) -> Iterable[str]:
    name, kind = found["metadata"]["name"], subject.kind
    if subject.of_pods:
        phase, gates = at_path(found, "status.phase"), at_path(found, "spec.schedulingGates")
        if phase not in ENDED:
            yield f"{name} has not ended: {phase}, gates {gates}"
    elif subject.ends:
        if kind.finished(found) is None:
            yield f"{name} has not ended: suspended {kind.is_suspended(found)}, {_short(found)}"
        elif not wish.hurt and not kind.finished(found).success:  # type: ignore[union-attr]
            yield f"{name} failed: {kind.finished(found)}"
    elif kind.serving or kind.resource.kind == "Deployment":
        replicas, ready = at_path(found, "spec.replicas", 1), at_path(found, "status.readyReplicas", 0)
        if replicas != (ready or 0):
            yield f"{name} has {ready} of {replicas} replicas ready: {_short(found)}"
    elif kind.is_suspended(found) or not kind.pods_ready(found):
        yield f"{name} is not ready: suspended {kind.is_suspended(found)}, {_short(found)}"


def _remains(world: World, wish: Wish) -> Iterable[str]:
    for name in wish.names:
        found = world.one(wish.subject.kind.resource, name)
        if found is not None:
            yield f"{name} was deleted and is still there: finalizers {found['metadata'].get('finalizers')}"


def _of_cluster(world: World) -> Iterable[str]:
    """Quota is held by Workloads of jobs that are there, and by each as much as its pods ask for."""
    live = [each for each in world.all(PODS) if at_path(each, "status.phase") not in ENDED and not _is_gated(each)]
    asked = sum(map(_cpu_of_pod, live))
    held = [each for each in world.all(WORKLOADS) if _holds(each)]
    reserved = sum(map(cpu_of, held))
    if asked != reserved:
        pods = ", ".join(sorted(each["metadata"]["name"] for each in live))
        holders = ", ".join(sorted(f"{each['metadata']['name']}: {cpu_of(each)}" for each in held))
        yield f"{reserved} milli-cpu are reserved ({holders}) for pods that ask for {asked} ({pods})"
    told = _told_usage(world.queue_status())
    if told != reserved:
        yield f"the ClusterQueue tells of {told} milli-cpu reserved; Workloads hold {reserved}"
    for each in world.all(WORKLOADS):
        if not is_true(each, names.FINISHED) and not each["metadata"].get("ownerReferences"):
            yield f"Workload {each['metadata']['name']} has lost its owner and is not finished"
        if each["metadata"].get("deletionTimestamp"):
            held_by = each["metadata"].get("finalizers")
            yield f"Workload {each['metadata']['name']} is deleted and does not go: {held_by}"


def _holds(workload: Document) -> bool:
    return is_true(workload, names.QUOTA_RESERVED) and not is_true(workload, names.FINISHED)


def _is_gated(pod: Document) -> bool:
    return bool(at_path(pod, "spec.schedulingGates"))


def _cpu_of_pod(pod: Document) -> int:
    asked = (at_path(each, "resources.requests.cpu", "0") for each in at_path(pod, "spec.containers", []))
    return sum(quantity.milli(str(each)) for each in asked)


def _told_usage(status: Document) -> int:
    total = 0
    for flavor in status.get("flavorsReservation") or ():
        total += sum(quantity.milli(str(each["total"])) for each in flavor["resources"] if each["name"] == "cpu")
    return total


def _short(document: Document) -> str:
    return str(document.get("status"))[:300]


def workloads_of(world: World, wish: Wish) -> list[Document]:
    """Workloads of the subject's objects and of what these made."""
    family = _family(world, wish)
    return [
        each
        for each in world.all(WORKLOADS)
        if family & {owner["uid"] for owner in each["metadata"].get("ownerReferences") or ()}
    ]


def pods_of(world: World, wish: Wish) -> list[Document]:
    family = _family(world, wish)
    return [each for each in world.all(PODS) if each["metadata"]["uid"] in family]


def _family(world: World, wish: Wish) -> set[str]:
    """UIDs of the subject's objects, and of all that they own, however deep."""
    family = set(wish.uids)
    everything = [
        document["metadata"]
        for store, collection in world.server.core.state.collections.items()
        if "workloads" not in store
        for document in (stored.document() for stored in collection.objects.values())
    ]
    while True:
        more = {
            metadata["uid"]
            for metadata in everything
            if family & {owner["uid"] for owner in metadata.get("ownerReferences") or ()}
        }
        if more <= family:
            return family
        family |= more
