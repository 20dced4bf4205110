"""Every scenario of this folder comes out as its file expects. A new file is a new test."""

from pathlib import Path

import pytest
import yaml

from worker_agent.engine.story_objects import StoryError
from worker_agent.engine.story_script import Event
from worker_agent.engine.story_timeline import Timeline

FILES = sorted(Path(__file__).parent.glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scenario(path):
    timeline = Timeline(yaml.safe_load(path.read_text()))
    events = [chapter for chapter in timeline.play() if isinstance(chapter, Event)]
    assert [line for event in events for line in event.differences] == []
    assert timeline.differing == ""


def scenario(*timeline, **fields):
    return {"cluster": {"queues": {"q": {"quota": {"default": {"cpu": 4}}}}}, "timeline": list(timeline), **fields}


def played(document):
    timeline = Timeline(document)
    return timeline, list(timeline.play())


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ({"waiting": ["w"]}, "w is not waiting: it runs on default"),
        ({"running": {"w": "spot"}}, "w runs on flavor default instead of spot"),
        ({"running": ["big"]}, "big is not running: ExceedsMaxQuota: couldn't assign"),
        ({"waiting": {"big": "WaitingForQuota"}}, "big waits with reason ExceedsMaxQuota instead of WaitingForQuota"),
        ({"finished": ["w"]}, "w is not finished: it runs on default"),
        ({"preempted": ["w"]}, "w was never preempted"),
        ({"pods": {"w": 2}}, "w has 1 pod(s) admitted instead of 2"),
        ({"queues": {"q": []}}, "q has big pending"),
        ({"usage": {"q": {"default": {"cpu": 1}}}}, "q uses 2 cpu of default instead of 1"),
        ({"admittedAt": {"w": "1s"}}, "w was admitted at 0:00:00 instead of 1s"),
        ({"admittedAt": {"big": "1s"}}, "big was never admitted"),
    ],
)
def test_what_is_not_so_is_said(expected, said):
    jobs = [{"name": "w", "queue": "q", "requests": {"cpu": 2}}, {"name": "big", "queue": "q", "requests": {"cpu": 5}}]
    timeline, chapters = played(scenario({"at": "0s", "submit": jobs, "expect": expected}))
    assert timeline.differing == "what is expected at 0:00:00"
    assert chapters[-1].differences[0].startswith(said)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"clusters": {}}, "clusters: unknown field"),
        ({"cluster": {}}, "cluster.queues: must name at least one"),
        ({"cluster": {"queue": {}}}, "cluster.queue: unknown field"),
        (scenario({"at": "soon", "submit": []}), "timeline[0].at: 'soon': must be a time such as"),
        (scenario({"at": "1s"}), "timeline[0]: empty: must be one of submit, finish"),
        (scenario({"at": "1s", "start": 1}), "timeline[0]: start: must be one of"),
        (scenario({"at": "1s", "submit": {"name": "w"}}), "must have at least name and queue"),
        (scenario({"at": "1s", "submit": {"name": "w", "queue": "q", "cpu": 1}}), "submit: w: cpu: must be one of"),
        (scenario({"at": "1s", "submit": {"name": "w", "queue": "q", "runs": "long"}}), "submit: w: runs: 'long'"),
        (scenario({"at": "1s", "finish": "w"}), "Workload default/w does not exist"),
        (scenario({"at": "1s", "change": {"queues": {"x": {}}}}), "change.queues.x: does not exist"),
        (scenario({"at": "1s", "expect": {"happy": []}}), "expect.happy: must be one of running"),
        (scenario({"at": "1s", "expect": {"running": ["w"]}}), "expect: w: there is no such workload"),
        (scenario(featureGates={"NoGate": True}), "settings: "),
    ],
)
def test_bad_scenario_is_refused_with_the_place(document, said):
    with pytest.raises(StoryError) as refused:
        played(document)
    assert said in str(refused.value)
