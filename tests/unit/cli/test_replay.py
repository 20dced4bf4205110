"""``fedhub-agent replay``: the story of a scenario, its differences from a trace, and what is said of bad files."""

import json
from pathlib import Path

import pytest
import yaml

from tests.builders import admitted, cluster_queue, workload
from tests.unit.cli.stories import START, cycles, run, scenario, write

SHARED = Path(__file__).parents[3].parent / "shared"


def told(tmp_path, *objects, steps, options=(), **fields):
    result = run("replay", write(tmp_path, scenario(*objects, steps=steps, **fields)), *options)
    assert result.exit_code == 0, result.output
    return result.output


def data(tmp_path, *objects, steps, options=(), **fields):
    return json.loads(told(tmp_path, *objects, steps=steps, options=("-o", "json", *options), **fields))


def test_admission_names_the_flavor(tmp_path):
    text = told(tmp_path, workload("w", cpu=3), steps=cycles(1))
    assert "1. ns/w in q (priority 0): ADMITTED" in text
    assert "main: 1 pod, cpu 3 -> cpu from default" in text
    assert "q: in use default/cpu 3" in text


def test_refusal_says_what_is_short_who_holds_it_and_where_the_workload_goes(tmp_path):
    text = told(tmp_path, admitted("big", cpu=3), workload("w", cpu=2), steps=cycles(1))
    assert "ns/w in q (priority 0): NOT ADMITTED, WaitingForQuota\n" in text
    assert "tried default: could preempt, but nobody can be a victim\n" in text
    assert "cpu in flavor default: wants 2, 1 free of 4, 1 short; held by ns/big 3 (q)" in text
    assert "set aside until something changes that could let it in" in text


def test_wide_leaves_nothing_out(tmp_path):
    crowd = [workload(f"w{i:02}", created=f"2026-01-01T10:00:{i:02}Z") for i in range(20)]
    objects = [cluster_queue("q", strict=True), admitted("big", cpu=4), *crowd]
    short = told(tmp_path, *objects, steps=cycles(1))
    wide = told(tmp_path, *objects, steps=cycles(1), options=("-o", "wide"))
    assert ("ns/w11 and 8 more" in short, "ns/w19" in short, "ns/w19" in wide) == (True, False, True)
    assert "NOT ADMITTED, WaitingForQuota: couldn't assign flavors to pod set main: insufficient unused quota" in wide


def test_more_than_there_can_ever_be(tmp_path):
    text = told(tmp_path, workload("w", cpu=9), steps=cycles(1))
    assert "cpu in flavor default: wants 9, and 4 is the most that its ClusterQueue can ever use" in text


def test_two_resources_of_one_flavor_are_told_together(tmp_path):
    objects = [cluster_queue("q", {"default": {"cpu": 4, "memory": "4Gi"}})]
    asking = workload("w")
    asking["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"] = "1Gi"
    assert "cpu 1, memory 1Gi -> cpu, memory from default" in told(tmp_path, *objects, asking, steps=cycles(1))


def test_last_line_sums_up(tmp_path):
    preempting = cluster_queue("q", preemption={"withinClusterQueue": "LowerPriority"})
    objects = [preempting, admitted("low", cpu=4), workload("high", cpu=4, priority=9), workload("w", cpu=2)]
    steps = [*cycles(1), {"op": "evictions"}, *cycles(2)]
    last = told(tmp_path, *objects, steps=steps).splitlines()[-1]
    assert last == ("3 cycles, 1 admission, 1 preempted workload; after the last cycle 1 in the queues and 1 set aside")


def test_preemption_names_its_victims(tmp_path):
    preempting = cluster_queue("q", preemption={"withinClusterQueue": "LowerPriority"})
    [cycle] = data(tmp_path, preempting, admitted("low", cpu=4), workload("high", cpu=4, priority=9), steps=cycles(1))
    [head] = cycle["heads"]
    assert head["result"] == "Preempting"
    assert head["victims"] == [{"workload": "ns/low", "clusterQueue": "q", "reason": "InClusterQueue"}]


def test_fewer_pods_are_told_beside_the_wanted_ones(tmp_path):
    few = workload("w")
    few["spec"]["podSets"][0] |= {"count": 6, "minCount": 2}
    assert "main: 4 of 6 pods, cpu 4" in told(tmp_path, few, steps=cycles(1))


def test_steps_between_cycles_are_told(tmp_path):
    steps = [
        {"op": "create", "object": workload("w", priority=3)},
        {"op": "cycle"},
        {"op": "advance", "seconds": 90},
        {"op": "finish", "workload": "ns/w"},
    ]
    lines = told(tmp_path, steps=steps).splitlines()
    assert lines[0] == f"{START}  ns/w is submitted to lq (priority 3)"
    assert lines[-3:-1] == ["2026-01-01T12:01:30Z  90 s pass", "2026-01-01T12:01:30Z  ns/w finishes"]


def test_cycle_without_heads(tmp_path):
    assert "a cycle without heads" in told(tmp_path, steps=cycles(1))


def test_one_workloads_life(tmp_path):
    objects = [workload(name, cpu=3, created=f"2026-01-01T10:00:0{i}Z") for i, name in enumerate("abc")]
    steps = [*cycles(2), {"op": "finish", "workload": "ns/a"}, *cycles(2)]
    strict = cluster_queue("q", strict=True)
    text = told(tmp_path, strict, *objects, steps=steps, options=("--workload", "ns/b"))
    assert "ns/b is number 1 of 2 in the queue of q after cycle 1" in text
    assert "ns/b in q (priority 0): NOT ADMITTED" in text
    assert "ns/b in q (priority 0): ADMITTED" in text
    assert "ns/a in" not in text


def test_workload_that_is_nowhere_in_the_story(tmp_path):
    result = run("replay", write(tmp_path, scenario(steps=cycles(1))), "--workload", "ns/none")
    assert (result.exit_code, "'ns/none': no workload of this name" in result.output) == (2, True)


def test_yaml(tmp_path):
    [cycle] = yaml.safe_load(told(tmp_path, workload("w"), steps=cycles(1), options=("-o", "yaml")))
    assert cycle["heads"][0]["podSets"][0]["tried"] == [{"flavor": "default", "mode": "Fit"}]


class TestTraces:
    def traced(self, tmp_path, **entry):
        document = scenario(workload("w", cpu=3), steps=cycles(1), trace=[entry])
        return run("replay", write(tmp_path, document))

    def test_difference_is_shown_and_fails(self, tmp_path):
        result = self.traced(tmp_path, step=0, usage={"q": {"default": {"cpu": 4000}}})
        assert result.exit_code == 1
        assert "DIFFERS from the recording: usage[q]: recorded {'default': {'cpu': 4000}}" in result.output
        assert "cycle 1 differs from the file" in result.output

    @pytest.mark.parametrize("family", ["f1-quota", "f4-hierarchical", "f5-fairsharing"])
    def test_recorded_scenario_comes_out_the_same(self, family):
        path = SHARED / "fuzz" / f"{family}.jsonl"
        if not path.exists():
            pytest.skip(f"{path.name} is not here")
        assert run("replay", path, "--line", 1).exit_code == 0


class TestBadFiles:
    def refused(self, path, *options):
        result = run("replay", path, *options)
        assert (result.exit_code, "Traceback" in result.output) == (2, False)
        return result.output

    def test_missing(self, tmp_path):
        assert "No such file or directory" in self.refused(tmp_path / "none")

    def test_no_json(self, tmp_path):
        path = tmp_path / "x"
        path.write_text("steps: []")
        shown = self.refused(path)
        assert "is neither a recording nor a scenario (it is no JSON: JSON is malformed" in shown
        assert "fedhub-agent run --record FILE" in shown

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("cluster: 5", "cluster: Expected `object | null`, got `int`"),
            ("cluster: {queues: {q: [a]}}", "cluster.queues[...]: Expected `object | null`, got `array`"),
            ("{cluster: {queues: {q: {}}}, timeline: [[]]}", "timeline[0]: Expected `object`, got `array`"),
            (
                "{cluster: {queues: {q: {}}}, timeline: [{at: 0s, expect: {usage: {q: {f: {cpu: much}}}}}]}",
                "expect.usage.q.f.cpu: 'much': quantities must match",
            ),
            (
                "{cluster: {queues: {q: {}}}, timeline: [{at: 0s, expect: {admittedAt: {w: soon}}}]}",
                "expect.admittedAt.w: 'soon' is no duration",
            ),
        ],
    )
    def test_field_of_a_wrong_form_is_named(self, tmp_path, text, message):
        path = tmp_path / "x.yaml"
        path.write_text(text)
        assert message in self.refused(path)

    def test_step_of_a_wrong_form_is_named(self, tmp_path):
        path = write(tmp_path, scenario(steps=["cycle"]))
        assert "steps[0]: Expected `object`, got `str`" in self.refused(path)

    def test_many_without_a_choice(self, tmp_path):
        path = write(tmp_path, scenario(steps=[]), scenario(steps=[]))
        assert "holds 2 scenarios: choose one with --name or --line" in self.refused(path)
        assert "--line: 3: the file has 2 line(s)" in self.refused(path, "--line", 3)
        assert "--name: 'x': no scenario of this name among 2" in self.refused(path, "--name", "x")

    def test_choice_by_name(self, tmp_path):
        path = write(tmp_path, scenario(steps=[]), scenario(steps=cycles(1)) | {"name": "other"})
        assert "a cycle without heads" in run("replay", path, "--name", "other").output

    @pytest.mark.parametrize(
        ("step", "problem"),
        [
            ({"op": "jump"}, "steps[0]: op: 'jump': must be one of create, finish"),
            ({}, "steps[0]: op: missing"),
            ({"op": "advance"}, "steps[0]: seconds: missing: must be a number"),
            ({"op": "finish", "workload": "w"}, "steps[0]: workload: 'w': must be namespace/name"),
            ({"op": "finish", "workload": "ns/w"}, "steps[0]: Workload ns/w does not exist at this point"),
            ({"op": "create", "object": {"kind": "Pot", "metadata": {"name": "p"}}}, "kind: 'Pot': must be one of"),
            ({"op": "create", "object": {"kind": "Workload"}}, "steps[0]: Workload: metadata.name: must be given"),
            (
                {"op": "create", "object": cluster_queue("x", cpu="lots")},
                "steps[0]: ClusterQueue x: ",
            ),
        ],
    )
    def test_bad_step(self, tmp_path, step, problem):
        assert problem in self.refused(write(tmp_path, scenario(steps=[step])))

    def test_no_scenario(self, tmp_path):
        assert "objects: missing: must be a list" in self.refused(write(tmp_path, {"steps": []}))

    def test_unknown_gate(self, tmp_path):
        assert "NoGate" in self.refused(write(tmp_path, scenario(steps=[], featureGates={"NoGate": True})))

    def test_one_document_over_many_lines(self, tmp_path):
        path = tmp_path / "s.json"
        path.write_text(json.dumps(scenario(steps=cycles(1)), indent=2))
        assert run("replay", path).exit_code == 0


class TestYaml:
    """Scenarios that people write; ``tests/scenarios`` holds more of them."""

    TEXT = """
    about: One after the other.
    cluster: {queues: {q: {quota: {default: {cpu: 4}}}}}
    timeline:
      - at: 0s
        submit: [{name: a, queue: q, requests: {cpu: 3}, runs: 1m}, {name: b, queue: q, requests: {cpu: 3}}]
      - at: end
        expect: {finished: [a], running: [b]}
    """

    def replayed(self, tmp_path, text):
        path = tmp_path / "s.yaml"
        path.write_text(text)
        return run("replay", path)

    def test_story(self, tmp_path):
        result = self.replayed(tmp_path, self.TEXT)
        assert result.exit_code == 0
        assert "2026-01-01T00:01:00Z  a finishes" in result.output

    def test_expectation_that_is_not_met(self, tmp_path):
        result = self.replayed(tmp_path, self.TEXT.replace("running: [b]", "running: [a]"))
        assert result.exit_code == 1
        assert "NOT SO: a is not running: it has finished" in result.output
        assert "what is expected at end differs from the file" in result.output

    def test_no_yaml(self, tmp_path):
        result = self.replayed(tmp_path, "a: [")
        assert (result.exit_code, "no YAML" in result.output) == (2, True)

    def test_no_mapping(self, tmp_path):
        assert "is neither a recording nor a scenario (it is no mapping)" in self.replayed(tmp_path, "- a").output


class TestRecordOption:
    def test_earlier_recording_is_not_overwritten(self, tmp_path):
        path = write(tmp_path, {"recording": 1})
        result = run("run", "--record", path)
        assert (result.exit_code, "holds a recording already; name a new file" in result.output) == (2, True)

    def test_folder_that_does_not_exist(self, tmp_path):
        result = run("run", "--record", tmp_path / "none" / "r.jsonl")
        assert (result.exit_code, "--record: " in result.output) == (2, True)

    def test_recording_of_another_version(self, tmp_path):
        result = run("replay", write(tmp_path, {"recording": 9}))
        assert (result.exit_code, "this program reads version 1" in result.output) == (2, True)

    def test_broken_line_is_named(self, tmp_path):
        result = run("replay", write(tmp_path, {"recording": 1}, {"at": "2026-01-01T00:00:00Z"}))
        assert (result.exit_code, "line 2: has none of put, delete" in result.output) == (2, True)
