"""Names of requests and templates, long ones too."""

import hashlib

import pytest

from worker_agent.engine.provisioning import request_names


def test_short_names_are_put_together():
    name = request_names.request_name("w", "room", 3)
    assert name == "w-room-3"
    assert request_names.template_name(name, "main") == "ppt-w-room-3-main"


@pytest.mark.parametrize(("length", "shortened"), [(247, False), (248, True)])
def test_a_name_over_the_limit_ends_in_a_hash_of_the_whole(length, shortened):
    full = "n" * length
    digest = hashlib.sha1(full.encode()).hexdigest()[:5]
    assert request_names.limited(full) == (f"{full[:247]}-{digest}" if shortened else full)


@pytest.mark.parametrize(
    ("name", "attempt"),
    [
        ("w-room-1", 1),
        ("w-room-12", 12),
        ("w-room", None),
        ("w-room-x", None),
        ("v-room-1", None),
        ("w-room-1-2", None),
    ],
)
def test_the_attempt_is_read_from_the_name(name, attempt):
    assert request_names.attempt_of(name, "w", "room", 4) == attempt


def test_the_attempt_of_a_shortened_name_is_found_too():
    workload = "w" * 250
    for attempt in (1, 2, 3):
        name = request_names.request_name(workload, "room", attempt)
        assert request_names.attempt_of(name, workload, "room", 4) == attempt
    assert request_names.attempt_of("else", workload, "room", 4) is None
