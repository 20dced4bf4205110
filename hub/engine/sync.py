"""MultiKueue's state machine: what to do now about one Workload and its copies (spec/multikueue sections 7 and 8).

``decide`` looks at one ``RemoteGroup`` and returns intents in the order in which they are to be carried out; the first
that fails ends the pass, except inside ``EachCluster``. The steps carry the specification's numbers:

    S1 elastic skip   S2 cleanup   S3 remote finished   S4 remote evicted   S5 spec drift (``sync_drift``)
    S6 the admitted copy (``sync_winner``)   S7 preemption gates   S8, S9 nomination (``sync_nomination``)
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from hub.engine import (
    earlier_runs,
    fencing,
    remote_objects,
    sync_check,
    sync_drift,
    sync_gates,
    sync_job,
    sync_nomination,
    sync_owner,
    sync_refusal,
    sync_removal,
    sync_winner,
)
from hub.engine.intents import ForgetDeleted, HubIntent
from hub.engine.remote_group import DEFERRED_SYNC_SECONDS, RemoteGroup
from worker_agent.api import names
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine.intents import (
    ADMISSION_MANAGER,
    MULTIKUEUE_MANAGER,
    ApplyStatus,
    RecordEvent,
    RequeueAfter,
    RetryWithError,
    SetCondition,
    condition_manager,
)


def decide(group: RemoteGroup, now: datetime) -> list[HubIntent]:
    """The intents for one pass. The group is taken as it stands; nothing is remembered between passes."""
    if not group.checks:
        return [ForgetDeleted()] if group.deleted else []
    if group.check.state == names.CHECK_REJECTED and not group.deleted:
        return _rejected(group)
    refusal = _refusal(group, now)
    if refusal is not None:
        return refusal
    if group.config_error:
        return [RetryWithError(f'admission check "{group.check.name}": {group.config_error}')]
    if group.deleted:
        return [*sync_removal.everywhere(group), *_left_behind(group, now), ForgetDeleted()]
    return _Pass(group, now).run()


def _rejected(group: RemoteGroup) -> list[HubIntent]:
    """Nothing more is done for it; what runs for it is removed once it is to run no more.

    Kueue leaves that to its collection of orphans: until the Workload is deleted the job runs on, and where nothing is
    collected it does so for ever.
    """
    if group.has_quota and not group.local.is_true(names.EVICTED) and not group.local.is_true(names.FINISHED):
        return []
    return _cleaned_up(group)


def _cleaned_up(group: RemoteGroup) -> list[HubIntent]:
    intents: list[HubIntent] = sync_removal.each_cluster(group)
    if group.unavailable:
        intents.append(RequeueAfter(group.policy.worker_lost_timeout.total_seconds()))
    return intents


def unseen_end(group: RemoteGroup) -> str:
    """The cluster whose copy is finished while the job there, as far as it is known, is not or is gone; empty for none.

    Copies and jobs are followed by different streams. Who mirrors the end before having seen the job's own end takes
    the job's last status to nobody, and then deletes the job: it has to be read first.
    """
    kind = group.owner.kind
    found = earlier_runs.first_finished(group)
    if kind is None or found is None or group.local.is_true(names.FINISHED):
        return ""
    cluster, copy = found
    job = group.connected[cluster].job
    if job is None:
        return cluster if sync_job.end_is_lost(group, cluster, copy) else ""
    if not remote_objects.is_ours(job, group.policy.origin) or kind.finished(job) is not None:
        return ""
    return cluster


def _refusal(group: RemoteGroup, now: datetime) -> list[HubIntent] | None:
    """Whose Workload it is settles whether this is MultiKueue's business at all; None when it is."""
    kind = group.owner.kind
    if kind is None:
        if group.deleted:
            return [ForgetDeleted()]
        return [sync_check.set_state(group, names.CHECK_REJECTED, sync_owner.no_adapter(group.owner), now)]
    if group.deleted or not sync_owner.is_judged(kind):
        return None
    if group.job is None:
        return [RetryWithError(f'{kind.resource.plural}.{kind.resource.group} "{group.owner.key.name}" not found')]
    unmanaged = sync_owner.why_unmanaged(kind, group.job)
    if unmanaged and not group.unmarked:
        message = f"The owner is not managed by Kueue: {unmanaged}"
        return [sync_check.set_state(group, names.CHECK_REJECTED, message, now)]
    return None


def _left_behind(group: RemoteGroup, now: datetime) -> list[HubIntent]:
    """A Workload deleted by itself leaves its job: pods that went with the copies are not waited for any more.

    The job may still run where the chosen cluster is out of contact: until that is given up, the Workload stays for it.
    A new job may bear the old one's name.
    """
    kind = group.owner.kind
    if kind is None or group.job is None:
        return []
    if all(member["metadata"].get("uid", "") != group.owner.uid for member in kind.members(group.job)):
        return []
    if group.cluster_name in group.unavailable and not fencing.given_up(group, group.cluster_name, now):
        return [RequeueAfter(group.policy.worker_lost_timeout.total_seconds())]
    return sync_winner.forget_pods(group)


@dataclass
class _Pass:
    """One run through the steps. A step returns True when it was the last one."""

    group: RemoteGroup
    now: datetime
    intents: list[HubIntent] = field(default_factory=list)
    last: list[HubIntent] = field(default_factory=list)
    """What comes after all else, for its failure is not to hold up the job where it belongs."""

    def run(self) -> list[HubIntent]:
        steps: tuple[Callable[[], bool], ...] = (
            self._elastic_skip,
            self._cleanup,
            self._outside,
            self._remote_finished,
            self._remote_evicted,
            self._spec_drift,
            self._admitted_copy,
            self._nomination,
        )
        for step in steps:
            if step():
                break
        return self.intents + self.last

    def _elastic_skip(self) -> bool:
        group = self.group
        if not group.elastic:
            return False
        finished = group.local.condition(names.FINISHED)
        if finished is not None and finished.is_true:
            return finished.reason == names.WORKLOAD_SLICE_REPLACED
        replaces = group.local.view.metadata.annotation(names.SLICE_REPLACEMENT_FOR_ANNOTATION)
        return not group.has_quota and bool(replaces)

    def _cleanup(self) -> bool:
        group = self.group
        if not group.local.is_true(names.FINISHED) and group.has_quota:
            return False
        self.intents += _cleaned_up(group)
        return True

    def _outside(self) -> bool:
        """Objects on a connected cluster that left the configuration: gone first, and only then the work goes on.

        Kueue leaves them there, and the job runs twice.
        """
        group = self.group
        if not group.outside:
            return False
        removal = [*sync_removal.outside(group), RequeueAfter(DEFERRED_SYNC_SECONDS)]
        if group.cluster_name in group.connected:
            self.last += removal
            return False
        self.intents += removal
        return True

    def _remote_finished(self) -> bool:
        found = earlier_runs.first_finished(self.group)
        if found is None:
            return False
        cluster, copy = found
        finished = copy.condition(names.FINISHED)
        assert finished is not None
        if finished.reason in (names.OUT_OF_SYNC, names.OWNER_NOT_FOUND) and not self.group.elastic:
            self._redispatch(cluster, finished.reason)
            return True
        if sync_job.lags(self.group, cluster, copy, self.now):
            self.intents.append(RequeueAfter(DEFERRED_SYNC_SECONDS))
            return True
        if sync_job.end_is_lost(self.group, cluster, copy):
            self.intents += sync_job.end_of(self.group, copy, self.now)
        else:
            sync = sync_job.validated(self.group, cluster, self.now)
            self.intents += sync.intents
            if sync.refused:
                return True
        self.intents.append(
            ApplyStatus(
                resource=WORKLOADS,
                key=self.group.key,
                field_manager=condition_manager(MULTIKUEUE_MANAGER, names.FINISHED),
                conditions=(SetCondition(names.FINISHED, "True", finished.reason, finished.message),),
                strict=False,
            )
        )
        return True

    def _redispatch(self, cluster: str, reason: str) -> None:
        """A copy that ended because its job vanished or differs says nothing about the work: dispatch it again.

        Kueue does so for OutOfSync alone and mirrors OwnerNotFound as the job's own end, which loses work that somebody
        deleted on the worker.
        """
        if not self.group.placed:
            if reason == names.OWNER_NOT_FOUND:
                # It took the job of an earlier copy for its own, which was just being removed: a new one is made.
                self.intents += sync_removal.on_cluster(self.group, cluster, self.group.connected[cluster])
            return
        happened = "is out of sync with" if reason == names.OUT_OF_SYNC else "has lost"
        text = f'Remote workload on worker cluster "{cluster}" {happened} its user job, resetting for re-dispatch'
        stored = sync_check.with_previous(self.group, text)
        self.intents.append(sync_check.set_state(self.group, names.CHECK_RETRY, text, self.now))
        self.intents.append(self._event(stored, "Warning"))

    def _remote_evicted(self) -> bool:
        found = earlier_runs.evicted(self.group)
        if found is None or earlier_runs.is_left_over(self.group, found[0]):
            return False
        if self.group.local.is_true(names.EVICTED):
            sync = sync_job.validated(self.group, found[0], self.now)
            self.intents += sync.intents
            if sync.deferred:
                self.intents.append(RequeueAfter(DEFERRED_SYNC_SECONDS))
            return True
        if self.group.check.state == names.CHECK_RETRY:
            # Said, and about to be done here too. The copy stays until then: it brings the end of its pods home.
            return True
        if not self.group.placed:
            return False
        message = (
            f'Workload evicted on worker cluster: "{self.group.cluster_name}", resetting for re-admission. '
            f'Previously: "{self.group.check.state}"'
        )
        entry = sync_check.entry(self.group, names.CHECK_RETRY, message, self.now)
        self.intents.append(
            ApplyStatus(
                resource=WORKLOADS,
                key=self.group.key,
                field_manager=ADMISSION_MANAGER,
                fields={"admissionChecks": sync_check.replaced(self.group, entry)},
            )
        )
        self.intents.append(self._event(message))
        return True

    def _spec_drift(self) -> bool:
        intents, connected = sync_drift.align(self.group)
        self.intents += intents
        if connected is not self.group.connected:
            self.group = replace(self.group, connected=connected)
        return False

    def _admitted_copy(self) -> bool:
        winner = self.group.admitted()
        if winner is not None:
            self.intents += sync_winner.adopt(self.group, *winner, self.now)
            return True
        if not self.group.placed:
            self._forget_lost_pods()
            return False
        self.intents += sync_winner.lost(self.group, self.now)
        return True

    def _forget_lost_pods(self) -> None:
        """Evicted here while its copy went away there: the quota must not wait for pods that nobody tells of."""
        group = self.group
        if not group.local.is_true(names.EVICTED) or any(group.copies()):
            return
        if group.cluster_name in group.unavailable and not fencing.given_up(group, group.cluster_name, self.now):
            self.intents.append(RequeueAfter(group.policy.worker_lost_timeout.total_seconds()))
            return
        if group.cluster_name or not group.unavailable:
            self.intents += sync_winner.forget_pods(group)

    def _nomination(self) -> bool:
        if sync_refusal.refused_by_all(self.group) and not sync_nomination.stopped(self.group):
            why = "Every worker cluster has deactivated its copy of the workload"
            self.intents += sync_refusal.give_back(self.group, why, self.now)
            return True
        if not sync_nomination.stopped(self.group):
            self.intents += sync_refusal.held_in_vain(self.group, self.now)
        self.intents += sync_gates.open_next(self.group, self.now)
        if not sync_nomination.stopped(self.group):
            self.intents += sync_nomination.nominate(self.group)
        return True

    def _event(self, message: str, type_: str = "Normal") -> RecordEvent:
        return sync_check.event(self.group, message, type_)
