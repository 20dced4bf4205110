"""What is sent again, and when."""

import asyncio

import pytest

from tests.unit.kube.fake_server import ScriptedTransport, answer, clock, status
from worker_agent.api.resource_type import JOBS
from worker_agent.kube import errors, retry
from worker_agent.kube.client import Client, PatchType

pytestmark = pytest.mark.looptime

OK = lambda request: answer(200, {})  # noqa: E731


def failing(code: int, retry_after: str = "") -> object:
    headers = {"retry-after": retry_after} if retry_after else {}
    return lambda request: answer(code, status(code, "Because"), headers)


@pytest.mark.parametrize("failure", [ConnectionError("x"), failing(500), failing(503), failing(504), failing(429)])
async def test_reads_are_repeated(failure: object):
    transport = ScriptedTransport(failure, OK)
    await Client(transport, clock()).get(JOBS, "j", "ns")
    assert len(transport.requests) == 2


@pytest.mark.parametrize("failure", [failing(code) for code in (400, 403, 404, 409, 422, 501)])
async def test_refusals_are_final(failure: object):
    transport = ScriptedTransport(failure, OK)
    with pytest.raises(errors.ApiError):
        await Client(transport, clock()).get(JOBS, "j", "ns")
    assert len(transport.requests) == 1


@pytest.mark.parametrize("failure", [ConnectionError("x"), failing(500), failing(503)])
async def test_a_write_with_unknown_outcome_is_the_callers_to_judge(failure: object):
    transport = ScriptedTransport(failure, OK)
    api = Client(transport, clock())
    with pytest.raises((ConnectionError, errors.ServerError)):
        await api.patch(JOBS, "j", "ns", [], patch_type=PatchType.JSON)
    assert len(transport.requests) == 1


@pytest.mark.parametrize("failure", [failing(429), failing(503, "2")])
async def test_a_write_turned_away_is_repeated(failure: object):
    transport = ScriptedTransport(failure, OK)
    await Client(transport, clock()).create(JOBS, {}, "ns")
    assert len(transport.requests) == 2


async def test_retry_after_is_honoured():
    transport = ScriptedTransport(failing(429, "7"), OK)
    await Client(transport, clock()).get(JOBS, "j", "ns")
    assert asyncio.get_running_loop().time() == pytest.approx(7, abs=0.2)


async def test_the_last_error_comes_through_after_five_attempts():
    transport = ScriptedTransport(ConnectionError("still down"))
    with pytest.raises(ConnectionError, match="still down"):
        await Client(transport, clock()).get(JOBS, "j", "ns")
    assert len(transport.requests) == 5


@pytest.mark.parametrize(("attempt", "longest"), [(1, 0.1), (2, 0.2), (3, 0.4), (12, 5.0)])
def test_waits_double_up_to_a_limit(attempt: int, longest: float):
    policy = retry.RetryPolicy()
    assert policy.wait(attempt, None, 1.0) == pytest.approx(longest)
    assert policy.wait(attempt, None, 0.0) == pytest.approx(longest / 2)


def test_a_hostile_retry_after_is_bounded():
    assert retry.RetryPolicy().wait(1, 3600.0, 0.0) == 30.0
