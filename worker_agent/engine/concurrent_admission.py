"""Concurrent admission: one Workload tried on every flavor of its ClusterQueue at once (spec/engine 23).

The submitted Workload is the parent; it is never queued. Each of its variants is bound to one flavor and schedules like
any Workload; the parent mirrors the variant that got in. ``decide`` looks at one family and is complete by itself: what
it wants written brings the family one step closer to rest, and the next call finds nothing more to do.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from worker_agent.api import names
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import preemption_gate_turns, reservation, variant_family
from worker_agent.engine.intents import DeleteObject, Intent, RemoveFinalizer, RequeueAfter
from worker_agent.engine.reservation import Observability
from worker_agent.engine.variant_family import Family, Member

VARIANT_EVICTED: Final = "Admitted variant was evicted"
NO_VARIANT: Final = "No variant is running"


def decide(family: Family, how: Observability, now: datetime) -> list[Intent]:
    """What brings parent and variants in line; nothing for a Workload that is no parent or whose queue is unknown."""
    if not variant_family.is_parent(family.parent) or family.cluster_queue is None:
        return []
    run = _Run(family, how, now)
    run.make_missing()
    run.delete_stale()
    if not run.follow_evictions():
        run.switch()
        run.mirror()
        run.open_gate()
    return run.intents()


@dataclass(slots=True)
class _Run:
    family: Family
    how: Observability
    now: datetime
    parent: Member = field(init=False)
    variants: list[Member] = field(init=False)
    intents_before: list[Intent] = field(default_factory=list)
    requeue: timedelta | None = None

    def __post_init__(self) -> None:
        self.parent = Member(self.family.parent, self.now)
        self.variants = [Member(variant, self.now) for variant in self.family.variants]

    def intents(self) -> list[Intent]:
        done = list(self.intents_before)
        for member in (*self.variants, self.parent):
            done.extend(member.intents())
        if self.requeue is not None:
            done.append(RequeueAfter(self.requeue.total_seconds()))
        return done

    # -- which variants there are ------------------------------------------------------------------------------------

    def make_missing(self) -> None:
        if self.parent.finished or self.parent.deleting:
            return
        present = {variant.flavor for variant in self.variants}
        for flavor in self.family.flavors:
            if flavor not in present:
                made = variant_family.variant_for(self.family.parent, flavor, self.family.short_names)
                self.intents_before.append(made)
                self.parent.event("CreatedVariant", f'Variant Workload "{made.key}" created')

    def delete_stale(self) -> None:
        """The flavor left the ClusterQueue, and with it the variant that tried it."""
        order = {flavor: place for place, flavor in enumerate(self.family.flavors)}
        for variant in self.variants:
            if variant.flavor not in order:
                self._delete(variant)
        self.variants = sorted((v for v in self.variants if v.flavor in order), key=lambda v: order[v.flavor])

    def _delete(self, variant: Member) -> None:
        metadata = variant.document["metadata"]
        if names.IN_USE_FINALIZER in (metadata.get("finalizers") or ()):
            self.intents_before.append(
                RemoveFinalizer(resource=WORKLOADS, key=variant.key, finalizer=names.IN_USE_FINALIZER)
            )
        if not variant.deleting:
            self.intents_before.append(DeleteObject(resource=WORKLOADS, key=variant.key, uid=metadata.get("uid", "")))
            message = f'Variant Workload "{variant.key}" deleted; flavor "{variant.flavor}" no longer in ClusterQueue'
            self.parent.event("DeletedVariant", message)

    # -- eviction: first the parent stops, then the variant gives back what it held ----------------------------------

    def follow_evictions(self) -> bool:
        """True: nothing else is decided before the parent, which owns the pods, has let go."""
        evicted = next((variant for variant in self.variants if variant.evicted and variant.reserved), None)
        if evicted is None:
            return False
        if not self.parent.reserved:
            reservation.release(evicted.draft, requeue=True, how=self.how)
            return False
        if not self.parent.evicted:
            self.parent.draft.set(names.EVICTED, True, names.EVICTED_VARIANT, VARIANT_EVICTED)
        return True

    # -- which variants go on trying ---------------------------------------------------------------------------------

    def switch(self) -> None:
        if not self.parent.active:
            self._stop(self.variants, f'Parent Workload "{self.parent.key}" not active')
            return
        admitted = self._admitted()
        if admitted is None:
            self._start(self.variants, "no other Variant being admitted")
        elif self.family.mode == names.RETAIN_FIRST_ADMISSION:
            others = (variant for variant in self.variants if variant is not admitted)
            self._stop(others, f'RetainFirstAdmission: another Variant "{admitted.key}" is admitted')
        else:
            self._keep_better_than(admitted)

    def _keep_better_than(self, admitted: Member) -> None:
        """TryPreferredFlavors: only flavors before the admitted one are worth a move, and only acceptable ones."""
        order, last = self.family.flavors, self.family.last_acceptable
        place, acceptable = order.index(admitted.flavor), len(order)
        if last:
            acceptable = order.index(last)
            below = (v for v in self.variants if v is not admitted and order.index(v.flavor) > acceptable)
            self._stop(
                below, f'being below lastAcceptableFlavor: "{last}" and another Variant admitted "{admitted.key}"'
            )
        worse = (v for v in self.variants if order.index(v.flavor) > place)
        self._stop(worse, f'being lower priority than admitted Variant "{admitted.key}"')
        better = [v for v in self.variants if order.index(v.flavor) < place and order.index(v.flavor) <= acceptable]
        reason = f'higher priority than admitted Variant "{admitted.key}"'
        self._start(
            better, f'being at least lastAcceptableFlavor: "{last}" and {reason}' if last else f"being {reason}"
        )

    def _admitted(self) -> Member | None:
        return next((variant for variant in self.variants if variant.admitted), None)

    def _stop(self, variants: Iterable[Member], why: str) -> None:
        for variant in variants:
            if variant.active:
                variant.active = False
                variant.event("DeactivatedVariant", f"Variant Workload deactivated due to {why}")
            if variant.evicted and variant.reserved:
                reservation.release(variant.draft, requeue=True, how=self.how)

    def _start(self, variants: Iterable[Member], why: str) -> None:
        for variant in variants:
            if not variant.active:
                variant.active = True
                variant.event("ActivatedVariant", f"Variant Workload activated due to {why}")

    # -- the parent shows what its variants reached ------------------------------------------------------------------

    def mirror(self) -> None:
        if self.parent.finished:
            finished = self.parent.draft.find(names.FINISHED) or {}
            for variant in self.variants:
                if not variant.finished:
                    variant.draft.set(names.FINISHED, True, finished["reason"], finished.get("message", ""))
            return
        admitted = self._admitted()
        if admitted is None:
            if self.parent.admitted and not self.parent.evicted:
                self.parent.draft.set(names.EVICTED, True, names.EVICTED_CONCURRENT_ADMISSION, NO_VARIANT)
            return
        ready = self.parent.draft.find(names.PODS_READY)
        if ready is not None:
            admitted.draft.set(names.PODS_READY, ready["status"] == "True", ready["reason"], ready.get("message", ""))
        if not self.parent.admitted:
            self._admit(admitted)

    def _admit(self, variant: Member) -> None:
        name = variant.key.name
        reservation.reserve(self.parent.draft, variant.draft.status["admission"], frozenset(), self.how)
        self.parent.draft.set(names.ADMITTED, True, names.ADMITTED, f"The variant {name} is admitted")

    # -- preemption --------------------------------------------------------------------------------------------------

    def open_gate(self) -> None:
        turn = preemption_gate_turns.next_turn(self.variants, self.now)
        self.requeue = turn.wait
        if turn.opens is not None:
            preemption_gate_turns.open_gate(turn.opens, self.now)
