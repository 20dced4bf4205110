"""Runs on virtual time: the same order of sets each time, and no module compiled twice."""

import sys

import pytest

from tests import interpreter

SETTLED = {"PYTHONHASHSEED": "0", "PYTHONPYCACHEPREFIX": "/elsewhere"}


def test_sets_are_walked_in_one_order_and_compiled_modules_are_kept_with_the_installation():
    found = interpreter.environment({"A": "b", "PYTHONHASHSEED": "7", "PYTHONDONTWRITEBYTECODE": "1"})
    assert found == {"A": "b", "PYTHONHASHSEED": "0", "PYTHONPYCACHEPREFIX": f"{sys.prefix}/compiled"}


def test_compiled_modules_stay_where_they_may_be():
    assert interpreter.environment({}) == {"PYTHONHASHSEED": "0"}
    assert interpreter.environment({**SETTLED, "PYTHONDONTWRITEBYTECODE": "1"}) == SETTLED


@pytest.mark.parametrize(("given", "starts"), [(SETTLED, 0), ({"PYTHONHASHSEED": "1"}, 1), ({}, 1)])
def test_it_starts_anew_once_at_most(monkeypatch: pytest.MonkeyPatch, given: dict[str, str], starts: int):
    started = []
    monkeypatch.setattr(interpreter.os, "environ", given)
    monkeypatch.setattr(interpreter.os, "execve", lambda *call: started.append(call))
    monkeypatch.setattr(sys, "argv", ["x", "--seed", "3"])
    interpreter.settle("tests.faults")
    again = (sys.executable, [sys.executable, "-m", "tests.faults", "--seed", "3"], interpreter.environment(given))
    assert started == [again] * starts
