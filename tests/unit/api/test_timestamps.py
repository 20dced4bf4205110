from datetime import UTC, datetime, timedelta, timezone

import pytest

from worker_agent.api import timestamps


@pytest.mark.parametrize("text", ["2026-01-31T12:00:00Z", "2026-01-31T14:00:00+02:00", "2026-01-31t12:00:00.000z"])
def test_one_instant_in_many_spellings(text: str) -> None:
    assert timestamps.rfc3339(timestamps.parse(text)) == "2026-01-31T12:00:00Z"


def test_parts_of_a_second_are_cut_off() -> None:
    instant = datetime(2026, 1, 31, 12, 0, 0, 999999, tzinfo=timezone(timedelta(hours=1)))
    assert timestamps.rfc3339(instant) == "2026-01-31T11:00:00Z"
    assert timestamps.rfc3339_micro(instant) == "2026-01-31T11:00:00.999999Z"


@pytest.mark.parametrize("text", ["", "2026-01-31", "2026-01-31T12:00:00", "2026-13-31T12:00:00Z", "now"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        timestamps.parse(text)


def test_micros_and_back() -> None:
    instant = datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=UTC)
    assert timestamps.from_micros(timestamps.micros(instant)) == instant
    assert timestamps.micros(None) == timestamps.micros(timestamps.ZERO) < 0
