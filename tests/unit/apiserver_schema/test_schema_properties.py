"""What holds for any document: patches, pruning and apply, checked with generated values."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hub.local.apiserver.schema import cel_reads, field_set, json_merge, typed_comparison, typed_values
from tests.unit.apiserver_schema.things import THING, apply, config, thing, things

WORDS = st.sampled_from(["a", "b", "c", "d"])
LEAVES = st.one_of(st.integers(-3, 3), st.booleans(), WORDS)
JSON = st.recursive(
    LEAVES, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3))
)
MAPS = st.dictionaries(WORDS, JSON, max_size=4)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "name": WORDS,
        "count": st.integers(0, 100),
        "on": st.booleans(),
        "labels": st.dictionaries(WORDS, WORDS, max_size=3),
        "whole": st.dictionaries(st.sampled_from(["x", "y"]), WORDS, min_size=1),
        "words": st.lists(WORDS, max_size=3),
        "tags": st.lists(WORDS, unique=True, max_size=3),
        "items": st.lists(
            st.fixed_dictionaries({"name": WORDS}, optional={"size": st.integers(0, 3)}),
            unique_by=lambda item: item["name"],
            max_size=3,
        ),
        "free": MAPS,
        "deep": st.fixed_dictionaries({}, optional={"a": st.fixed_dictionaries({}, optional={"b": WORDS})}),
    },
)


@given(MAPS, MAPS)
def test_the_difference_of_two_documents_leads_from_one_to_the_other(original, modified):
    assert json_merge.merge(original, json_merge.difference(original, modified)) == modified


@given(MAPS)
def test_pruning_twice_is_pruning_once(spec):
    pruned, _ = things().prune(THING, thing(**spec))
    assert things().prune(THING, pruned) == (pruned, [])


@given(SPECS)
def test_defaulting_twice_is_defaulting_once(spec):
    filled = things().default(THING, thing(**spec))
    assert things().default(THING, filled) == filled


@settings(deadline=None)
@given(SPECS, SPECS)
def test_applying_twice_is_applying_once(first, second):
    live = apply(apply(None, config(**first)), config(**second), manager="b", force=True)
    assert apply(live, config(**second), manager="b") == live


@settings(deadline=None)
@given(SPECS, SPECS)
def test_what_is_applied_stands_in_the_result(first, second):
    live = apply(apply(None, config(**first)), config(**second), force=True)
    for field in ("name", "count", "on", "words"):
        if field in second:
            assert live["spec"][field] == second[field]


@given(SPECS, SPECS)
def test_a_comparison_names_nothing_twice(first, second):
    result = typed_comparison.compare(thing(**first), thing(**second), things().schema(THING))
    for left, right in (
        (result.added, result.removed),
        (result.added, result.modified),
        (result.removed, result.modified),
    ):
        assert field_set.intersection(left, right) == {}


@given(SPECS, SPECS)
def test_sets_obey_their_laws(first, second):
    node = things().schema(THING)
    left, right = (typed_values.fields_of(thing(**spec), node) for spec in (first, second))
    both, common = field_set.union(left, right), field_set.intersection(left, right)
    assert field_set.difference(both, right) == field_set.difference(left, right)
    assert set(field_set.paths(both)) == set(field_set.paths(left)) | set(field_set.paths(right))
    assert set(field_set.paths(common)) == set(field_set.paths(left)) & set(field_set.paths(right))


NAMED = st.lists(st.sampled_from(["self.a", "self.a.b", "has(self.c)", "size(self.d)", "self.b.exists(x, x.a == 1)"]))


@given(MAPS, MAPS, NAMED)
def test_values_differ_in_what_is_named_where_their_projections_do(new, old, texts):
    tree = cel_reads.reads("self", texts) or {}
    same = {**old, **{key: old[key] for key in new if key in old}}
    for one in (new, same, {**new, **same}):
        differ = cel_reads.projected(one, tree) != cel_reads.projected(old, tree)
        assert cel_reads.differ(one, old, tree) is differ
