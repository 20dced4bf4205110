"""delete and deletecollection: preconditions, finalizers, propagation, and the grace pods are given.

Source: k8s.io/apiserver pkg/registry/generic/registry/store.go and pkg/registry/rest/delete.go.
"""

from collections.abc import Sequence
from dataclasses import replace as replaced
from datetime import datetime, timedelta

from hub.local.apiserver import admission, commit, conversion, crds, failure, selection, write_options
from hub.local.apiserver.answer import Answer, json_answer
from hub.local.apiserver.call import Call, Steps, document_of, frozen_of
from hub.local.apiserver.metadata import FOREGROUND, ORPHAN, timestamp
from hub.local.apiserver.reading import encoded_list, shown
from hub.local.apiserver.resources import CRDS, NAMESPACES, PODS, Resource
from hub.local.apiserver.store import Stored
from hub.local.apiserver.write_options import DeleteOptions
from worker_agent.api.document import Document

_PROTECTED = ("default", "kube-system", "kube-public")
_JOB_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


def held(resource: Resource, document: Document) -> bool:
    """Whether a deleted object still has to wait: for finalizers, a pod's grace, a namespace's contents."""
    metadata = document["metadata"]
    if metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds"):
        return True
    return resource.store == NAMESPACES and bool((document.get("spec") or {}).get("finalizers"))


def delete(call: Call) -> Steps:
    """DELETE of one object."""
    options = write_options.delete_options(call)
    if _orphans_by_default(call) and not options.propagation and options.orphan is None:
        call.warn(_JOB_WARNING)
    for _ in range(5):
        stored = _existing(call)
        yield from conversion.ready(call, [stored])
        _check_preconditions(call, stored, options)
        old = frozen_of(call.resource, stored)
        _refuse_protected(call)
        change = admission.Admission("DELETE", stored.name, None, old, options.dry_run)
        yield from admission.mutate(call, change)
        yield from admission.validate(call, change)
        if _existing(call) is stored:
            return (yield from _delete(call, stored, old, options))
    raise failure.conflict(call.resource.group, call.resource.plural, call.target.name)


def _existing(call: Call) -> Stored:
    target, resource = call.target, call.resource
    stored = call.state.get(resource.store, target.namespace, target.name)
    if stored is None:
        raise failure.not_found(resource.group, resource.plural, target.name)
    return stored


def _check_preconditions(call: Call, stored: Stored, options: DeleteOptions) -> None:
    resource = call.resource
    for what, wanted, found in (
        ("UID", options.uid, stored.uid),
        ("ResourceVersion", options.version, str(stored.version)),
    ):
        if wanted is not None and wanted != found:
            why = {
                "UID": f"the UID in the precondition ({wanted}) does not match the UID in record ({found}). "
                "The object might have been deleted and then recreated",
                "ResourceVersion": f"the ResourceVersion in the precondition ({wanted}) does not match the "
                f"ResourceVersion in record ({found}). The object might have been modified",
            }[what]
            raise failure.conflict(resource.group, resource.kind, stored.name, why)


def _refuse_protected(call: Call) -> None:
    if call.resource.store == NAMESPACES and call.target.name in _PROTECTED:
        raise failure.forbidden("", "namespaces", call.target.name, "this namespace may not be deleted")


def _delete(call: Call, stored: Stored, old: Document, options: DeleteOptions) -> Steps:
    resource = call.resource
    made = {**old, "metadata": dict(old["metadata"])}
    _set_propagation(call, made, options)
    if resource.store == NAMESPACES:
        _terminate_namespace(made)
    elif resource.store == CRDS:
        crds.terminate(made, call.now)
    elif resource.store == PODS:
        _grace_pod(made, options, call.now)
    if not held(resource, made):
        return _gone(call, stored, options)
    metadata = made["metadata"]
    if not metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = timestamp(call.now)
        if resource.store != NAMESPACES:
            metadata["deletionGracePeriodSeconds"] = 0
        if metadata.get("generation"):
            metadata["generation"] += 1
    status = 202 if options.orphan is False else 200
    if options.dry_run:
        return commit.unstored(call, made, status)
    if made == old:
        return shown(call, stored, status)
    call.kept = _kept(call, stored, made)
    return (yield from commit.commit(call, made, status))


def _kept(call: Call, stored: Stored, made: Document) -> Document | None:
    """The object in the version it is kept in, with what a deletion changed of its metadata."""
    if not call.resource.translated:
        return None
    kept = stored.document()
    for name in ("finalizers", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
        if name in made["metadata"]:
            kept["metadata"][name] = made["metadata"][name]
        else:
            kept["metadata"].pop(name, None)
    return kept


def _set_propagation(call: Call, made: Document, options: DeleteOptions) -> None:
    """Turn the policy into the finalizer that the garbage collector works on."""
    metadata = made["metadata"]
    finalizers = [name for name in metadata.get("finalizers") or () if name not in (FOREGROUND, ORPHAN)]
    policy = options.propagation
    if options.orphan is not None:
        policy = "Orphan" if options.orphan else "Background"
    if not policy:
        policy = _default_policy(call, metadata.get("finalizers") or ())
    if policy == "Foreground":
        finalizers.append(FOREGROUND)
    elif policy == "Orphan":
        finalizers.append(ORPHAN)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)


def _default_policy(call: Call, finalizers: Sequence[str]) -> str:
    if FOREGROUND in finalizers:
        return "Foreground"
    if ORPHAN in finalizers:
        return "Orphan"
    return "Orphan" if _orphans_by_default(call) else "Background"


def _orphans_by_default(call: Call) -> bool:
    return call.resource.kind == "Job" and call.resource.group == "batch"


def _terminate_namespace(namespace: Document) -> None:
    status = dict(namespace.get("status") or {})
    status["phase"] = "Terminating"
    namespace["status"] = status


def _grace_pod(pod: Document, options: DeleteOptions, now: datetime) -> None:
    """A bound, unfinished pod gets its grace: a deletion time ahead, and somebody else removes it with grace 0."""
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    pending = metadata.get("deletionGracePeriodSeconds")
    if metadata.get("deletionTimestamp"):
        if not pending:
            return
        if options.grace is not None and options.grace < pending:
            _shorten(metadata, options.grace, pending, now)
        return
    grace = options.grace if options.grace is not None else spec.get("terminationGracePeriodSeconds", 30)
    finished = (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded")
    if not spec.get("nodeName") or finished:
        grace = 0
    if grace == 0:
        return
    metadata["deletionTimestamp"] = timestamp(now + timedelta(seconds=grace))
    metadata["deletionGracePeriodSeconds"] = grace
    if metadata.get("generation"):
        metadata["generation"] += 1


def _shorten(metadata: Document, grace: int, pending: int, now: datetime) -> None:
    due = datetime.fromisoformat(metadata["deletionTimestamp"].replace("Z", "+00:00"))
    due = due - timedelta(seconds=pending) + timedelta(seconds=grace)
    if due < now:
        due, grace = now, 1 if grace else 0
    metadata["deletionTimestamp"] = timestamp(due)
    metadata["deletionGracePeriodSeconds"] = grace


def _gone(call: Call, stored: Stored, options: DeleteOptions) -> Answer:
    resource = call.resource
    if resource.returns_deleted:
        if options.dry_run:
            return shown(call, stored)
        answer = _last_seen(call, stored)
    else:
        details = failure.success(resource.group, resource.plural, stored.name, stored.uid)
        answer = json_answer(details)
    if not options.dry_run:
        remove(call, stored)
    return answer


def _last_seen(call: Call, stored: Stored) -> Answer:
    document = document_of(call.resource, stored)
    document["metadata"]["resourceVersion"] = str(call.state.version + 1)
    if call.resource.store == PODS:
        _end_grace(document["metadata"], call.now)
    return json_answer(document)


def _end_grace(metadata: Document, now: datetime) -> None:
    """A pod deleted at once is shown with a grace of zero."""
    if not metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = timestamp(now)
        metadata["generation"] = metadata.get("generation", 0) + 1
    metadata["deletionGracePeriodSeconds"] = 0


def remove(call: Call, stored: Stored) -> None:
    """Take an object out of the store; a CRD takes its resource out of service."""
    call.state.remove(call.resource.store, stored.key)
    if call.resource.store == CRDS:
        crds.unserve(call.state, call.schemas, stored)


def delete_collection(call: Call) -> Steps:
    """DELETE of everything selected, one by one; answers with the list of what was deleted."""
    write_options.delete_options(call)  # malformed ones are refused before anything goes
    chosen = selection.select(call.resource, call.target.namespace, "", call.query)
    collection = call.state.collection(call.resource.store)
    doomed = [stored for stored in collection.in_namespace(chosen.namespace) if chosen.matches(stored)]
    collection_target = call.target
    yield from conversion.ready(call, doomed)
    for stored in doomed:
        call.target = replaced(collection_target, namespace=stored.namespace, name=stored.name)
        try:
            yield from delete(call)
        except failure.Failure as refusal:
            if refusal.code != 404:
                raise
    call.target = collection_target
    metadata: Document = {"resourceVersion": str(call.state.version)}
    if call.resource.custom:
        metadata["continue"] = ""
    return Answer(200, encoded_list(call, metadata, doomed))
