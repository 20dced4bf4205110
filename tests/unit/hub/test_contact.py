"""Back-off, patience and what is said of a worker that cannot be reached."""

from datetime import UTC, datetime, timedelta

import pytest

from hub.engine import contact
from hub.engine.contact import Contact

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 5), (2, 10), (3, 20), (4, 40), (5, 80), (6, 160), (7, 320), (8, 320), (100, 320)]
)
def test_pauses_double_up_to_five_minutes(failures, seconds):
    assert contact.backoff(failures) == timedelta(seconds=seconds)


@pytest.mark.parametrize(("failures", "minutes"), [(0, 1), (1, 2), (2, 4), (3, 8), (4, 10), (9, 10), (1000, 10)])
def test_patience_grows_with_the_failures(failures, minutes):
    assert contact.patience(failures) == timedelta(minutes=minutes)


def test_a_failure_says_when_the_next_attempt_is():
    failed = Contact(NOW).failed(NOW)
    assert failed.explained("no route") == (
        "no route; connection attempts: 1, next connection attempt: 2026-01-31T12:00:05Z"
    )
    assert failed.wait(NOW + timedelta(seconds=2)) == timedelta(seconds=3)


def test_contact_is_lost_only_once():
    lost = Contact(None).lost(NOW)
    assert lost.lost(NOW + timedelta(minutes=1)).disconnected_since == NOW


def test_a_new_configuration_is_tried_at_once():
    failed = Contact(NOW).failed(NOW).with_new_configuration()
    assert (failed.failures, failed.wait(NOW)) == (0, timedelta(0))


def test_contact_forgets_all_failures():
    assert Contact(NOW).failed(NOW).made() == Contact(None)


def test_a_short_interruption_is_no_failure():
    lost = Contact(None).lost(NOW)
    pauses = []
    for _ in range(6):
        lost = lost.failed(NOW)
        pauses.append(lost.wait(NOW).total_seconds())
    assert pauses == [0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert lost.failures == 0


def test_an_interruption_that_lasts_is_a_failure():
    lost = Contact(None).lost(NOW).failed(NOW)
    later = NOW + timedelta(seconds=10)
    assert (lost.failed(later).failures, lost.failed(later).wait(later)) == (1, timedelta(seconds=5))


def test_a_first_contact_that_fails_is_a_failure():
    assert Contact(NOW).failed(NOW).failures == 1
    assert Contact(None).lost(NOW).with_new_configuration().failed(NOW).failures == 1
