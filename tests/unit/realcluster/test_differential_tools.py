"""Scripts are read, answers masked and compared: what the differential tests rest on."""

import pytest

from tests.realcluster.differential import comparison, generated, script
from tests.realcluster.differential.comparison import Difference, Known
from tests.realcluster.differential.masking import Masks
from tests.realcluster.differential.player import Answer, decoded, filled, value_at


def masked(body):
    return Masks().answer(Answer("GET /x", 200, {}, body))["body"]


def test_short_path_lies_in_the_namespace_of_the_script():
    assert script.step({"do": "GET configmaps/a?limit=1"}).path == "/api/v1/namespaces/{ns}/configmaps/a?limit=1"
    assert script.step({"do": "GET nodes/n"}).path == "/api/v1/nodes/n"


def test_kind_is_filled_in_where_it_is_missing():
    assert script.step({"do": "POST widgets", "body": {}}).body == {"apiVersion": "example.com/v1", "kind": "Widget"}
    assert script.step({"do": "POST widgets", "body": {"kind": "Other"}}).body["kind"] == "Other"
    assert script.step({"do": "PATCH widgets/a", "type": "merge", "body": {}}).body == {}


def test_unknown_field_of_a_step_is_refused():
    with pytest.raises(ValueError, match="unknown \\['keeps'\\]"):
        script.step({"do": "GET nodes", "keeps": {}})


def test_versions_are_ranked_by_their_first_appearance():
    versions = [{"metadata": {"resourceVersion": value}} for value in ("70", "71", "70")]
    assert [one["metadata"]["resourceVersion"] for one in masked(versions)] == ["version 1", "version 2", "version 1"]


def test_times_and_uids_are_masked_inside_of_text():
    text = "at 2026-01-01T00:00:00Z by 11111111-2222-3333-4444-555555555555"
    assert masked({"message": text}) == {"message": "at <time> by <uid>"}


def test_generated_name_is_masked_behind_its_prefix():
    found = masked({"metadata": {"generateName": "a-", "name": "a-x7k2p"}})
    assert found["metadata"]["name"] == "a-<random>"


def test_differences_are_the_smallest_parts():
    one, other = {"a": [{"b": 1}, 2], "c": 3}, {"a": [{"b": 9}, 2]}
    assert list(comparison.walk(one, other, "")) == [(".a.0.b", 1, 9), (".c", 3, "(absent)")]


def test_true_is_not_one():
    assert list(comparison.walk(True, 1, "x")) == [("x", True, 1)]


def test_known_difference_is_told_by_patterns():
    found = Difference("create: x", "GET /x", "1.body.message", "a", "b")
    assert Known("create: *", "*.message", "").covers(found)
    assert not Known("update: *", "*.message", "").covers(found)


def test_watch_is_a_list_of_its_lines():
    assert decoded('{"type":"ADDED"}\n{"type":"DELETED"}\n', True) == [{"type": "ADDED"}, {"type": "DELETED"}]


def test_variables_are_filled_and_other_braces_stay():
    assert filled('{"a":{"b":"{ns}"}}', {"ns": "x"}) == '{"a":{"b":"x"}}'


def test_value_of_a_path_that_leads_nowhere_is_none():
    assert value_at({"a": [{"b": 1}]}, "a.0.b") == 1
    assert value_at({"a": []}, "a.0.b") is None


def test_generated_scripts_are_the_same_every_time():
    assert generated.scripts(4) == generated.scripts(4)
