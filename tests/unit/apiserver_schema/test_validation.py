"""What the real server says against custom resources; every text here was seen on kube-apiserver 1.36.3."""

import pytest

from tests.unit.apiserver_schema.things import complaints, thing

NOT_CHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"name": "ABC"}, "spec.name: Invalid value: \"ABC\": spec.name in body should match '^[a-z]*$'"),
        ({"count": -1}, "spec.count: Invalid value: -1: spec.count in body should be greater than or equal to 0"),
        ({"count": 101}, "spec.count: Invalid value: 101: spec.count in body should be less than or equal to 100"),
        ({"low": 5, "high": 1}, "spec: Invalid value: low above high"),
        ({"tags": ["a", "b", "a"]}, 'spec.tags[2]: Duplicate value: "a"'),
        ({"items": [{"name": "a"}, {"name": "a"}]}, 'spec.items[1]: Duplicate value: {"name":"a"}'),
    ],
)
def test_wrong_values(spec, complaint):
    assert complaints(thing(**spec)) == [complaint]


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"name": "abcdefghijklm"}, "spec.name: Too long: may not be more than 10 bytes"),
        (
            {"name": 5},
            'spec.name: Invalid value: "integer": spec.name in body must be of type string: "integer"',
        ),
        ({"mode": "c"}, 'spec.mode: Unsupported value: "c": supported values: "a", "b"'),
        (
            {"when": "soon"},
            'spec.when: Invalid value: "soon": spec.when in body must be of type date-time: "soon"',
        ),
        ({"words": list("abcd")}, "spec.words: Too many: 4: must have at most 3 items"),
        ({"items": [{"size": 1}]}, "spec.items[0].name: Required value"),
        (
            {"either": True},
            'spec.either: Invalid value: "boolean": spec.either in body must be of type integer,string: "boolean"',
        ),
        ({"on": "x"}, 'spec.on: Invalid value: "string": spec.on in body must be of type boolean: "string"'),
    ],
)
def test_errors_that_keep_rules_from_being_checked(spec, complaint):
    assert complaints(thing(**spec)) == [complaint, NOT_CHECKED]


def test_a_number_out_of_its_format():
    assert '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.count' in (
        complaints(thing(count=3_000_000_000))
    )


def test_a_nullable_field_may_be_null():
    assert complaints(thing(maybe=None)) == []


def test_what_did_not_change_is_not_complained_about():
    old = thing(name="ABC", count=1)
    assert complaints(thing(name="ABC", count=2), old) == []


def test_a_transition_rule_compares_with_the_old_value():
    assert complaints(thing(fixed="b"), thing(fixed="a")) == ['spec.fixed: Invalid value: "b": cannot change']


def test_a_transition_rule_needs_an_old_value():
    assert complaints(thing(fixed="b"), thing()) == []


def test_the_status_endpoint_checks_only_the_status():
    new = {**thing(name="ABC"), "status": {"phase": "C"}}
    old = {**thing(name="abc"), "status": {"phase": "A"}}
    wanted = 'status.phase: Unsupported value: "C": supported values: "A", "B"'
    assert complaints(new, old, "status") == [wanted, NOT_CHECKED]


def test_names_are_subdomains():
    document = thing()
    document["metadata"]["name"] = "A_b"
    (complaint,) = complaints(document)
    assert complaint.startswith('metadata.name: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of')
    assert complaint.endswith(
        r"regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )


def test_labels_are_checked():
    document = thing()
    document["metadata"]["labels"] = {"a": "-c"}
    (complaint,) = complaints(document)
    assert complaint.startswith('metadata.labels: Invalid value: "-c": a valid label must be an empty string or')


def test_a_name_cannot_change():
    new = thing()
    new["metadata"] = {**new["metadata"], "uid": "other"}
    assert complaints(new, thing()) == ['metadata.uid: Invalid value: "other": field is immutable']
