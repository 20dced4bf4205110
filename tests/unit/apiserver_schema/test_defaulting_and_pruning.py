"""Defaults filled and unknown fields removed, for custom resources."""

import copy

import pytest

from tests.unit.apiserver_schema.things import THING, thing, things


def test_a_default_fills_an_absent_field():
    assert things().default(THING, thing())["spec"] == {"on": True}


def test_a_default_replaces_a_null_that_is_not_allowed():
    assert things().default(THING, thing(on=None))["spec"]["on"] is True


def test_defaults_reach_into_list_items():
    assert things().default(THING, thing(items=[{"name": "x"}]))["spec"]["items"] == [{"name": "x", "weight": 7}]


def test_defaulting_leaves_its_argument_alone():
    document = thing(items=[{"name": "x"}])
    before = copy.deepcopy(document)
    things().default(THING, document)
    assert document == before


def test_nothing_to_fill_returns_the_same_object():
    document = thing(on=False)
    assert things().default(THING, document) is document


@pytest.mark.parametrize(
    ("spec", "unknown"),
    [
        ({"nope": 1}, ["spec.nope"]),
        ({"items": [{"name": "x", "nope": 1}]}, ["spec.items[0].nope"]),
        ({"deep": {"a": {"c": 1}, "d": 2}}, ["spec.deep.a.c", "spec.deep.d"]),
        ({"free": {"anything": {"x": 1}}}, []),
        ({"free": {"known": {"other": 1}}}, ["spec.free.known.other"]),
        ({"labels": {"any": "x"}}, []),
    ],
)
def test_unknown_fields_go_and_are_named(spec, unknown):
    pruned, found = things().prune(THING, thing(**spec))
    assert found == unknown
    assert things().prune(THING, pruned) == (pruned, [])


def test_a_null_that_is_not_allowed_goes_without_a_word():
    assert things().prune(THING, thing(name=None, maybe=None)) == (thing(maybe=None), [])


def test_empty_metadata_fields_do_not_survive():
    document = thing()
    document["metadata"] |= {"labels": {}, "finalizers": [], "nope": 1}
    pruned, found = things().prune(THING, document)
    assert pruned["metadata"] == thing()["metadata"]
    assert found == ["metadata.nope"]
