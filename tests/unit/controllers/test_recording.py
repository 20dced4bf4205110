"""What a live agent records: played again it comes out the same, and nothing private is in it."""

import io
import json

import msgspec

from tests import builders
from tests.unit.controllers.test_engine_work import Loop, put
from worker_agent.api import resource_type as kinds
from worker_agent.api.meta import Key
from worker_agent.controllers.engine_messages import Forget, Remove
from worker_agent.controllers.recording import FileRecorder
from worker_agent.engine.story import CycleTale
from worker_agent.engine.story_recording import Recording


class Stream(io.BytesIO):
    def lines(self):
        return [json.loads(line) for line in self.getvalue().splitlines()]


def recorded(*documents):
    stream = Stream()
    loop = Loop()
    loop.work.recorder = FileRecorder(stream, {}, {})
    loop.tell(*documents)
    return loop, stream


def played(stream):
    head, *lines = stream.lines()
    recording = Recording(head, enumerate(lines, start=2))
    return recording, list(recording.play())


def test_recording_comes_out_the_same():
    loop, stream = recorded(
        *builders.single_queue(cpu=4),
        *(builders.workload(name, cpu=3, created=f"2026-01-01T10:00:0{i}Z") for i, name in enumerate("abc")),
    )
    loop.until_quiet()
    loop.inbox.append(Forget(Key("ns", "a")))
    loop.until_quiet()
    loop.inbox.append(Remove(kinds.WORKLOADS, Key("ns", "b")))
    loop.inbox.append(put(builders.admitted("a", cpu=3)))
    loop.until_quiet()
    recording, chapters = played(stream)
    assert recording.differing == ""
    tales = [chapter for chapter in chapters if isinstance(chapter, CycleTale)]
    assert len(tales) == loop.work.cycles
    assert tales[0].heads[0].result == "Admitted"
    texts = [chapter.text for chapter in chapters if not isinstance(chapter, CycleTale)]
    assert "the admission of ns/a could not be written" in texts
    assert "Workload ns/b is deleted" in texts


def test_other_outcome_is_noticed():
    loop, stream = recorded(*builders.single_queue(cpu=4), builders.workload("a", cpu=3))
    loop.until_quiet()
    head, *lines = stream.lines()
    for line in lines:
        if "ClusterQueue" in str(line):
            quota = line["put"]["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
            quota["nominalQuota"] = "2"
    recording = Recording(head, enumerate(lines, start=2))
    list(recording.play())
    assert recording.differing == "cycle 1"


def test_nothing_private_is_recorded():
    hidden = "hush-hush"
    container = builders.container({"cpu": 1}, env=[{"name": "PASSWORD", "value": hidden}], command=[hidden])
    container["image"] = hidden
    spec = {"containers": [container], "volumes": [{"name": hidden}], "imagePullSecrets": [{"name": hidden}]}
    template = {"metadata": {"annotations": {"note": hidden}}, "spec": spec}
    document = builders.workload(
        "w", {"name": "main", "count": 1, "template": template}, metadata={"annotations": {"last-applied": hidden}}
    )
    loop, stream = recorded(*builders.single_queue(), document)
    loop.until_quiet()
    assert hidden.encode() not in stream.getvalue()
    assert played(stream)[0].differing == ""


def test_annotations_that_decide_are_kept():
    gated = builders.workload("w", metadata={"annotations": {"kueue.x-k8s.io/admission-gated-by": "x"}})
    loop, stream = recorded(*builders.single_queue(), gated)
    loop.until_quiet()
    assert b"admission-gated-by" in stream.getvalue()


def test_full_disk_ends_the_recording_and_not_the_engine():
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    loop = Loop()
    loop.work.recorder = FileRecorder(Full(), {}, {})
    loop.tell(*builders.single_queue(), builders.workload("a"))
    loop.until_quiet()
    assert [step.key.name for step in loop.steps] == ["a"]


def test_unreadable_template_is_recorded_as_such():
    broken = builders.workload("w")
    broken["spec"]["podSets"][0]["template"] = {"spec": {"containers": "none"}}
    loop, stream = recorded(*builders.single_queue(), broken)
    loop.until_quiet()
    recording, chapters = played(stream)
    assert recording.differing == ""
    assert msgspec.to_builtins(chapters[-1])["heads"][0]["result"] == "Refused"
