"""How ``fedhub doctor`` tells its findings: what belongs together is one row, and what was not looked at is said."""

import pytest

from hub.cli import doctor_command
from hub.cli.output import Format
from tests.unit.doctor.installation import Installation
from worker_agent.api import need
from worker_agent.api import resource_type as kinds


def test_a_narrow_credential_gets_one_row_that_names_all_it_could_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    denied = {resource: f"{resource.plural} is forbidden" for resource in (kinds.DEPLOYMENTS, kinds.CLUSTER_QUEUES)}
    doctor_command._tell(Installation(unreadable=denied).results(), Format.TABLE)
    shown = capsys.readouterr().out
    assert [line.split()[:4] for line in shown.splitlines() if " note " in line] == [["oregon", "4", "checks", "note"]]
    assert "not looked at: program, other-managers, queues, finalizers" in shown
    assert "because these could not be read: deployments.apps, clusterqueues.kueue.x-k8s.io" in shown
    assert shown.count("remedy: ask with another credential") == 1


def test_what_one_remedy_ends_is_one_row_and_whole_with_wide(capsys: pytest.CaptureFixture[str]) -> None:
    missing = [
        need.of(resource, "get")
        for resource in (
            kinds.JOBS,
            kinds.NODES,
            kinds.PODS,
            kinds.LEASES,
            kinds.COHORTS,
            kinds.TOPOLOGIES,
            kinds.JOB_SETS,
        )
    ]
    results = Installation(denied=missing).results()
    doctor_command._tell(results, Format.TABLE)
    short = capsys.readouterr().out
    doctor_command._tell(results, Format.WIDE)
    whole = capsys.readouterr().out
    assert short.count("may not get") == 5
    assert f"and {len(missing) - 5} more; -o wide tells all" in short
    assert short.count("roles.yaml") == 1
    assert whole.count("may not get") == len(missing)


def test_programs_are_told_what_each_check_could_not_read() -> None:
    results = Installation(unreadable={kinds.DEPLOYMENTS: "you may not"}).results()
    assert {tuple(each.unread) for each in results if not each.made} == {("deployments.apps",)}


def test_checks_that_could_not_be_made_are_counted_in_the_summary() -> None:
    sound = Installation().results()
    blind = Installation(unreadable={kinds.CUSTOM_RESOURCE_DEFINITIONS: "you may not"}, denied=None).results()
    assert doctor_command._summary(sound) == "nothing is wrong on 1 cluster"
    assert "nothing is wrong on 1 cluster, but " in doctor_command._summary(blind)
