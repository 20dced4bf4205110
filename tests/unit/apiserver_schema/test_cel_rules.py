"""Rules of CRDs: messages, reasons, paths, Kubernetes' functions, and what is handed to them."""

import pytest

from hub.local.apiserver.schema import cel_reads
from tests.unit.apiserver_schema.things import complaints, crd, registry_of, thing

CONDITION = {name: {"type": "string"} for name in ("type", "status", "message")}


def with_rule(rule, **more):
    properties = {
        "n": {"type": "integer"},
        "q": {"x-kubernetes-int-or-string": True},
        "s": {"type": "string"},
        "ss": {"type": "array", "items": {"type": "string"}},
        "t": {"type": "string", "format": "date-time"},
        "namespace": {"type": "string"},
        "conditions": {"type": "array", "items": {"type": "object", "properties": CONDITION}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    }
    spec = {"type": "object", "properties": properties, "x-kubernetes-validations": [{"rule": rule, **more}]}
    return registry_of(crd(spec))


def test_without_a_message_the_rule_is_quoted():
    assert complaints(thing(n=1), registry=with_rule("self.n > 1")) == ["spec: Invalid value: failed rule: self.n > 1"]


def test_a_message_expression_wins_over_the_message():
    registry = with_rule("self.n > 1", message="plain", messageExpression="'n is ' + string(self.n)")
    assert complaints(thing(n=1), registry=registry) == ["spec: Invalid value: n is 1"]


def test_a_failing_message_expression_falls_back_on_the_message():
    registry = with_rule("self.n > 1", message="plain", messageExpression="self.s")
    assert complaints(thing(n=1), registry=registry) == ["spec: Invalid value: plain"]


def test_reason_and_field_path():
    registry = with_rule("self.n > 1", message="no", reason="FieldValueForbidden", fieldPath=".n")
    assert complaints(thing(n=1), registry=registry) == ["spec.n: Forbidden: no"]


def test_an_absent_field_is_an_error_not_false():
    registry = with_rule("self.n > 1", message="m")
    assert complaints(thing(), registry=registry) == [
        'spec: Invalid value: "object": no such key: n evaluating rule: m'
    ]


@pytest.mark.parametrize(
    "rule",
    [
        "quantity(self.q).isGreaterThan(quantity('1Gi'))",
        "isQuantity(self.q) && quantity(self.q).compareTo(quantity('2048Mi')) == 0",
        "self.s.lowerAscii() == 'hello' && self.s.matches('^H')",
        "self.s.split('l').size() == 3 && self.ss.join('-') == 'a-b'",
        "self.ss.isSorted() && self.ss.all(x, x in ['a', 'b'])",
        "self.ss.exists_one(x, x == 'a') && self.ss.map(x, x + '!') == ['a!', 'b!']",
        "self.t > timestamp('2025-01-01T00:00:00Z')",
        "has(self.n) ? self.n == 3 : false",
        "sets.contains(self.ss, ['a'])",
        "self.__namespace__ == 'x'",
        "isIP('10.0.0.1') && cidr('10.0.0.0/8').containsIP('10.1.1.1')",
    ],
)
def test_rules_that_hold(rule):
    spec = {"n": 3, "q": "2Gi", "s": "Hello", "ss": ["a", "b"], "t": "2026-01-01T00:00:00Z", "namespace": "x"}
    assert complaints(thing(**spec), registry=with_rule(rule)) == []


def test_optional_old_self_is_there_on_creation_too():
    registry = with_rule("!oldSelf.hasValue() || self.n > oldSelf.value().n", optionalOldSelf=True, message="grow")
    assert complaints(thing(n=1), registry=registry) == []
    assert complaints(thing(n=1), thing(n=2), registry=registry) == ["spec: Invalid value: grow"]


def test_the_order_of_a_set_does_not_count():
    registry = with_rule("self == oldSelf", message="changed")
    assert complaints(thing(set=["a", "b"]), thing(set=["b", "a"]), registry=registry) == []
    assert complaints(thing(set=["a"]), thing(set=["b"]), registry=registry) == ["spec: Invalid value: changed"]


def test_a_rule_that_cannot_be_parsed_is_refused_with_its_place():
    with pytest.raises(ValueError, match="spec: x-kubernetes-validations"):
        with_rule("self.n >")


def test_new_rules_ask_about_objects_that_never_met_them():
    registry = registry_of(crd({"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}))
    rule = {"rule": "self.n > 1", "message": "m"}
    properties = {"n": {"type": "integer"}, "s": {"type": "string"}}
    registry.add_crd(crd({"type": "object", "properties": properties, "x-kubernetes-validations": [rule]}))
    assert complaints(thing(n=1, s="b"), thing(n=1, s="a"), registry=registry) == ["spec: Invalid value: m"]


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("self.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", True),
        ("self.conditions.all(c, c.type.startsWith('Q'))", False),
        ("self.conditions.exists(c, has(c.message) && size(self.conditions) == 2)", True),
        ("self.conditions.exists_one(c, c == {'type': 'Q', 'status': 'False'})", True),
        ("self.conditions.exists(c, self.conditions.all(d, d.type != c.status))", True),
    ],
)
def test_rules_on_elements_see_the_fields_that_they_name(rule: str, holds: bool):
    conditions = [{"type": "Ready", "status": "True", "message": "m"}, {"type": "Q", "status": "False"}]
    assert complaints(thing(conditions=conditions), registry=with_rule(rule)) is not holds


def test_a_rule_on_elements_is_handed_only_the_fields_that_it_names():
    rule = "self.conditions.exists(c, c.type == 'Ready') && self.ss.exists(x, x == 'a')"
    assert cel_reads.reads("self", [rule]) == {"conditions": {cel_reads.ELEMENTS: {"type": {}}}, "ss": {}}
