"""The undo journal."""

import pytest

from worker_agent.engine.trial import Journal


def test_a_trial_undoes_changes_insertions_and_removals() -> None:
    journal, table = Journal(), {"a": 1, "b": 2}
    with journal.trial():
        journal.put(table, "a", 9)
        journal.put(table, "c", 3)
        journal.drop(table, "b")
    assert table == {"a": 1, "b": 2}


def test_trials_nest() -> None:
    journal, table = Journal(), {"a": 1}
    with journal.trial():
        journal.put(table, "a", 2)
        with journal.trial():
            journal.put(table, "a", 3)
        assert table == {"a": 2}
    assert table == {"a": 1}


def test_an_exception_undoes_as_well() -> None:
    journal, table = Journal(), {"a": 1}
    with pytest.raises(ZeroDivisionError):
        change_and_fail(journal, table)
    assert table == {"a": 1}


def change_and_fail(journal: Journal, table: dict[str, int]) -> None:
    with journal.trial():
        journal.put(table, "a", 2)
        raise ZeroDivisionError


def test_outside_of_a_trial_changes_are_final() -> None:
    journal, table = Journal(), {"a": 1}
    journal.put(table, "a", 2)
    with journal.trial():
        pass
    assert table == {"a": 2}
    assert not journal.active
