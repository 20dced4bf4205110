"""Selectors as query strings: what we print is read back, and anything else is taken or refused with words."""

from hypothesis import given
from hypothesis import strategies as st

from worker_agent.api.selectors import Query, Requirement, SelectorError, parse_field_query, parse_label_query

words = st.from_regex(r"[a-z][a-z0-9./_-]{0,6}[a-z0-9]", fullmatch=True).filter(
    lambda word: word not in ("in", "notin")
)
operators = st.sampled_from(["=", "!=", "in", "notin", "", "!", ">"])


def written(key: str, operator: str, values: list[str]) -> tuple[str, Requirement]:
    match operator:
        case "=" | "!=":
            return f"{key}{operator}{values[0]}", Requirement(key, "In" if operator == "=" else "NotIn", (values[0],))
        case "in" | "notin":
            names = tuple(sorted(set(values)))
            return f"{key} {operator} ({', '.join(values)})", Requirement(
                key, "NotIn" if "not" in operator else "In", names
            )
        case ">":
            return f"{key}>{len(values)}", Requirement(key, "Gt", (str(len(values)),))
        case _:
            return f"{operator}{key}", Requirement(key, "DoesNotExist" if operator else "Exists")


@given(st.lists(st.tuples(words, operators, st.lists(words, min_size=1, max_size=3)), max_size=4))
def test_label_queries_are_read_as_they_are_written(terms: list[tuple[str, str, list[str]]]) -> None:
    pairs = [written(*term) for term in terms]
    assert parse_label_query(",".join(text for text, _ in pairs)) == Query(tuple(term for _, term in pairs))


@given(st.text(alphabet="ab=!<>(), in\\\u00e9", max_size=16))
def test_any_text_is_a_query_or_is_refused(text: str) -> None:
    for parse in (parse_label_query, parse_field_query):
        refusal = ""
        try:
            assert parse(text).matches({"a": "b"}) in (True, False)
        except SelectorError as error:
            refusal = str(error)
        assert not refusal or text.strip() in refusal or "Gt" in refusal or "found" in refusal
