"""Where a workload is expected to wait shortest: by what is missing, and by how long the work there has run."""

from datetime import timedelta

import msgspec

from hub.engine import expected_wait, policies
from hub.engine.evaluation import Evaluation, Outlook
from tests.builders import cluster_queue, flavor, local_queue, namespace, workload
from tests.engine_world import EngineWorld
from tests.unit.hub import knowledge
from tests.unit.hub.test_judging import Office
from worker_agent.api import timestamps


def queue(*running, ago=600):
    """A queue whose work began so many seconds ago; and the present."""
    world = EngineWorld([namespace(), flavor(), cluster_queue(cpu=16), local_queue()])
    for number, cpu in enumerate(running):
        world.put(workload(f"w{number}", cpu=cpu))
    world.settle()
    return world.state.cluster_queues["q"], timestamps.micros(world.now + timedelta(seconds=ago))


def wait(cpu, *running, ago=600):
    found, now = queue(*running, ago=ago)
    return expected_wait.milliseconds(found, {"cpu": cpu * 1000}, now)


def test_twice_as_much_takes_twice_as_long():
    assert wait(8, 4, 4) == 2 * wait(4, 4, 4) > 0


def test_what_has_run_long_is_expected_to_run_long():
    assert wait(4, 4, 4, ago=3600) > wait(4, 4, 4, ago=60)


def test_more_work_ends_sooner_somewhere():
    assert wait(4, 4, 4, 4) < wait(4, 4)


def test_nothing_missing_is_no_wait():
    assert wait(0, 4) == wait(-4, 4) == 0


def test_where_nothing_runs_nothing_comes_free():
    assert wait(1) == expected_wait.NEVER


def test_a_hub_prefers_the_queue_whose_work_is_young():
    def full(cluster, started):
        running = knowledge.reserved(knowledge.workload_document("old", cpu=8), cpu=8)
        running["status"]["conditions"][0]["lastTransitionTime"] = started
        return [*knowledge.worker(cluster, cpu=8), knowledge.event(cluster, "workloads", running)]

    office = Office(*full("a", "2026-01-31T02:00:00Z"), *full("b", "2026-01-31T11:59:00Z"))
    answer = office.ask(knowledge.request("a", "b", cpu=4))
    assert [each.outlook for each in answer] == [Outlook.WAITS, Outlook.WAITS]
    ranked = policies.ranked(answer, policies.STRATEGIES["Fastest"])
    assert [each.cluster for each in ranked] == ["b", "a"]


def test_of_equal_waits_the_lighter_load_comes_first():
    heavy = Evaluation("a", int(Outlook.WAITS), wait=5, load=2000)
    light = msgspec.structs.replace(heavy, cluster="b", load=1000)
    assert policies.ranked([heavy, light], policies.STRATEGIES["Fastest"])[0].cluster == "b"
