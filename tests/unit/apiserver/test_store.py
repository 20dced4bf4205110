"""The store on its own: a collection as it was at any revision of the window."""

from hypothesis import given
from hypothesis import strategies as st

from hub.local.apiserver.store import Span, State

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
