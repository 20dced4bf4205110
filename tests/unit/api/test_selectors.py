import pytest

from worker_agent.api import selectors
from worker_agent.api.meta import LabelSelector, LabelSelectorRequirement

LABELS = {"team": "a", "tier": "gold", "size": "5"}


def expression(key: str, operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=[LabelSelectorRequirement(key=key, operator=operator, values=list(values))])


@pytest.mark.parametrize(
    ("selector", "taken"),
    [
        (None, False),
        (LabelSelector(), True),
        (LabelSelector(match_labels={"team": "a"}), True),
        (LabelSelector(match_labels={"team": "b"}), False),
        (expression("team", "In", "a", "b"), True),
        (expression("absent", "In", "a"), False),
        (expression("absent", "NotIn", "a"), True),
        (expression("team", "NotIn", "a"), False),
        (expression("team", "Exists"), True),
        (expression("team", "DoesNotExist"), False),
    ],
)
def test_object_selector(selector: LabelSelector | None, taken: bool) -> None:
    assert selectors.matches(selector, LABELS) is taken


@pytest.mark.parametrize(
    "selector", [expression("a", "Near", "b"), expression("a", "In"), expression("a", "Exists", "b")]
)
def test_broken_object_selector_is_refused(selector: LabelSelector) -> None:
    with pytest.raises(selectors.SelectorError):
        selectors.matches(selector, LABELS)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("", True),
        ("team=a", True),
        ("team==a,tier=gold", True),
        ("team!=a", False),
        ("other!=a", True),
        ("team in (a, b)", True),
        ("team notin (a,b)", False),
        ("team", True),
        ("!team", False),
        ("size>4,size<6", True),
        ("team=", False),
        ("in in (in)", False),
    ],
)
def test_label_query(text: str, taken: bool) -> None:
    assert selectors.parse_label_query(text).matches(LABELS) is taken


@pytest.mark.parametrize("text", ["=a", "a in b", "a in (b", "a,,b", "a=b,", "a>x", "a=b c", "()"])
def test_broken_label_query_is_refused(text: str) -> None:
    with pytest.raises(selectors.SelectorError):
        selectors.parse_label_query(text)


def test_field_query() -> None:
    query = selectors.parse_field_query("metadata.name=x,status.phase!=Running,note=a\\,b")
    assert query.matches({"metadata.name": "x", "status.phase": "Pending", "note": "a,b"})
    assert selectors.field_equality(query, "metadata.name") == "x"
    with pytest.raises(selectors.SelectorError, match="can't understand 'oops'"):
        selectors.parse_field_query("oops")


def test_node_terms_compare_integers() -> None:
    gt = selectors.node_requirement(LabelSelectorRequirement(key="size", operator="Gt", values=["4"]))
    assert gt.matches(LABELS)
    assert not gt.matches({"size": "big"})
