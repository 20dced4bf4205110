"""The table of metrics: fresh, and with every name of Kueue's."""

import re
from pathlib import Path

import pytest

from hub.app import metric_table
from tests.unit.agent import test_metric_table as kueues

ROOT = Path(__file__).parents[3]
SPEC = ROOT.parent / "shared" / "spec" / "operations.md"
ROWS = {row.name: row for row in metric_table.rows()}


def test_the_page_is_fresh():
    page = (ROOT / "manifests" / "metrics.md").read_text()
    assert page == metric_table.page(), "run scripts/gen-metrics"


@pytest.mark.parametrize("name", ["multikueue_workloads_dispatched_total", "multikueue_workloads_admitted_total"])
def test_the_federations_metrics_under_kueues_names(name):
    assert (ROWS[name].type, ROWS[name].labels) == ("counter", ("cluster_queue", "cluster", "replica_role"))


@pytest.mark.parametrize("name", kueues.HISTOGRAMS)
def test_buckets(name):
    assert ROWS[f"kueue_{name}"].buckets == pytest.approx(kueues.HISTOGRAMS[name][1][:-1])


def names_of_the_specification():
    """The first cell of each row, written out: ``a / local_queue_...`` are two."""
    text = SPEC.read_text()
    section = text[text.index("## 4. Metrics") : text.index("## 5. Events")]
    for cell in re.findall(r"^\| ([a-z][^|]*?) \| (?:C|G|H|G=1|G 0/1|H \S.*) \|", section, re.MULTILINE):
        words = re.sub(r"\([^)]*\)", "", cell).replace(" and ", ", ").replace(" / ", ", ").replace(" variants", "")
        parts = [part.strip() for part in words.split(", ") if part.strip()]
        singles = [part for part in parts if part not in ("local_queue_...", "local_queue_")]
        yield from singles
        if len(singles) < len(parts):
            yield from (f"local_queue_{part}" for part in singles)


def test_every_name_of_the_specification_is_there():
    if not SPEC.exists():
        pytest.skip(f"{SPEC} is not here")
    wanted = {name if name.startswith("multikueue_") else f"kueue_{name}" for name in names_of_the_specification()}
    assert len(wanted) > 60
    assert wanted <= set(ROWS)


def test_there_is_no_name_of_kueues_that_the_specification_lacks():
    known = {f"kueue_{name}" for name in (*kueues.COUNTERS, *kueues.GAUGES, *kueues.HISTOGRAMS, "build_info")}
    assert {name for name in ROWS if name.startswith("kueue_")} == known


def test_names_of_our_own_are_told_apart():
    ours = [row for row in ROWS.values() if row.is_ours]
    assert {row.name.partition("_")[0] for row in ours} == {"fedhub"}
    assert all(row.text.endswith(".") for row in ROWS.values())


def test_the_programs_tell_of_themselves_under_the_names_of_controller_runtime_and_client_go():
    reconciles = {"controller_runtime_reconcile_total": ("counter", ("controller", "result"))}
    queues = {f"workqueue_{name}": ("name", "controller") for name in ("depth", "adds_total", "retries_total")}
    queues |= {
        f"workqueue_{name}_seconds": ("name", "controller")
        for name in ("queue_duration", "work_duration", "unfinished_work", "longest_running_processor")
    }
    requests = {"rest_client_requests_total": ("counter", ("code", "method", "host"))}
    reviews = {"controller_runtime_webhook_requests_total": ("counter", ("webhook", "code"))}
    for name, told in (reconciles | requests | reviews).items():
        assert (ROWS[name].type, ROWS[name].labels) == told
    assert {name: ROWS[name].labels for name in queues} == queues
