"""The store on its own: a collection as it was at any revision of the window."""

from hypothesis import given
from hypothesis import strategies as st

from hub.local.apiserver.store import DOCUMENTS_REMEMBERED, Span, State

KEYS = [f"{namespace}/{name}" for namespace in ("a", "b") for name in ("x", "y", "z")]
writes = st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), max_size=30)


def played(steps: list[tuple[str, bool]]) -> tuple[State, dict[int, dict[str, int]]]:
    """A state after puts (true) and removals, and what each revision held: key to the object's own revision."""
    state = State(bytes)
    held: dict[str, int] = {}
    history = {state.version: dict(held)}
    for key, puts in steps:
        namespace, name = key.split("/")
        if puts:
            held[key] = state.put("s", {"metadata": {"namespace": namespace, "name": name}}, None).version
        elif key in held:
            state.remove("s", key)
            del held[key]
        history[state.version] = dict(held)
    return state, history


@given(writes, st.sampled_from([None, "a/", "a/y", "b/"]), st.sampled_from([None, "b0", "b/y"]), st.booleans())
def test_span_is_what_was_there_at_its_revision(
    steps: list[tuple[str, bool]], first: str | None, last: str | None, after: bool
) -> None:
    state, history = played(steps)
    for version, held in history.items():
        span = Span(version, first, last, after and first is not None)
        collection = state.collection("s")
        wanted = [(key, found) for key, found in sorted(held.items()) if span.holds(key)]
        assert [(stored.key, stored.version) for stored in collection.between(span)] == wanted
        assert collection.count(span) == len(wanted)


def test_what_was_written_is_read_without_decoding_it_and_shares_its_parts():
    spec = {"parts": [1, 2]}
    document = {"apiVersion": "v1", "kind": "Thing", "spec": spec, "metadata": {"name": "x", "resourceVersion": "0"}}
    stored = State(bytes, 7).put("s", document, None)
    assert stored.frozen()["spec"] is spec
    assert stored.frozen() == stored.document() == {"metadata": {"resourceVersion": "8", "name": "x"}, "spec": spec}
    assert list(stored.frozen()) == list(stored.document())


def test_what_was_written_long_ago_is_decoded_anew():
    state = State(bytes)
    first = state.put("s", {"metadata": {"name": "first"}, "spec": {}}, None)
    written = first.frozen()
    for number in range(DOCUMENTS_REMEMBERED):
        state.put("s", {"metadata": {"name": f"other-{number}"}}, None)
    assert first.frozen() is not written
    assert first.frozen() == written
    assert first.frozen() is first.frozen()
