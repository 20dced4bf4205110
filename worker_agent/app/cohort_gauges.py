"""Gauges of cohorts, each with all that lies below it (spec/operations 4)."""

from collections import Counter, defaultdict

from worker_agent.api.meta import Key
from worker_agent.app.gauge_page import GaugePage, units
from worker_agent.engine.resources import FlavorResource
from worker_agent.engine.view import EngineView
from worker_agent.metric_labels import Source

COHORT = Source.COHORT


def fill(page: GaugePage, view: EngineView) -> None:
    labels = ("cohort", "flavor", "resource")
    quota = page.gauge("cohort_subtree_quota", "Quota of the cohort and all below it.", labels, COHORT)
    reserved = page.gauge("cohort_subtree_resource_reservations", "Reserved anywhere below.", labels, COHORT)
    admitted = page.gauge("cohort_subtree_admitted_active_workloads", "Admitted below.", ("cohort",), COHORT)
    info = page.gauge("cohort_info", "The cohort's place.", ("cohort", "parent_cohort", "root_cohort"), COHORT)
    share = page.gauge("cohort_weighted_share", "Dominant share of a cohort.", ("cohort",), COHORT)
    usage, counts = _sums(view)
    for name, picture in view.cohorts.items():
        key = Key("", name)
        info(name, picture.parent, picture.root, amount=1, key=key)
        admitted(name, amount=counts[name], key=key)
        for fr, amount in picture.quota.items():
            quota(name, *fr, amount=units(fr[1], amount), key=key)
            reserved(name, *fr, amount=units(fr[1], usage[name][fr]), key=key)
    for name, value in view.cohort_shares.items():
        share(name, amount=value, key=Key("", name))


def _sums(view: EngineView) -> tuple[dict[str, Counter[FlavorResource]], Counter[str]]:
    """Reserved amounts and admitted workloads of all ClusterQueues below each cohort."""
    usage: dict[str, Counter[FlavorResource]] = defaultdict(Counter)
    admitted: Counter[str] = Counter()
    for queue in view.cluster_queues.values():
        for cohort in view.cohorts_above(queue.name):
            usage[cohort].update(queue.holdings.usage)
            admitted[cohort] += queue.holdings.admitted
    return usage, admitted
