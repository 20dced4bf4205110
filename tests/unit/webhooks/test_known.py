"""What a watch shows to be as it should be is neither read nor written."""

import msgspec
import pytest

from tests.unit.kube.fake_server import ScriptedTransport, answer, clock, status
from worker_agent.api.crds import CONVERT_PATH
from worker_agent.api.resource_type import JOBS, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from worker_agent.kube.client import Client
from worker_agent.webhooks import configurations, definitions
from worker_agent.webhooks.configurations import Configurations, Endpoint, Served

CA = b"CA"
HERE, ELSEWHERE = (Endpoint(url=f"https://127.0.0.1:{port}") for port in (9443, 1))
WANTED = Configurations((Served(JOBS),), HERE, {})
AS_WANTED = {MUTATING_WEBHOOKS: WANTED.mutating(CA), VALIDATING_WEBHOOKS: WANTED.validating(CA)}
OF_ANOTHER_CA = {MUTATING_WEBHOOKS: WANTED.mutating(b"other"), VALIDATING_WEBHOOKS: WANTED.validating(b"other")}


def converted(endpoint):
    webhook = {"clientConfig": endpoint.client_config(CONVERT_PATH, CA), "conversionReviewVersions": ["v1"]}
    return {"spec": {"group": "g", "conversion": {"strategy": "Webhook", "webhook": webhook}}}


def definition(document):
    return definitions.decode(msgspec.json.encode(document))


def server(*documents):
    """One that has these objects of a kind each, whichever is asked for; a write gives back what it was sent."""

    def answered(request):
        if request.method != "GET":
            return answer(200, request.body)
        if not documents:
            return answer(404, status(404, "NotFound"))
        kind = request.path.split("/")[-2]
        return answer(
            200, next((each for each in documents if each.get("kind", "").lower() + "s" == kind), documents[0])
        )

    transport = ScriptedTransport(answered)
    return transport, Client(transport, clock())


def sent(transport):
    return [request.method for request in transport.requests]


@pytest.mark.parametrize(
    "seen",
    [definition(converted(HERE)), definition({"spec": {"conversion": {"strategy": "None"}}}), definition({}), None],
    ids=["asks this agent", "is not converted", "says nothing of it", "is not there"],
)
async def test_a_definition_that_needs_no_word_is_not_read(seen):
    transport, client = server(converted(ELSEWHERE))
    await definitions.convert_here(client, HERE, CA, dict.fromkeys(definitions.NAMES, seen))
    assert sent(transport) == []


async def test_a_definition_that_asks_somebody_else_is_read_and_told():
    transport, client = server(converted(ELSEWHERE))
    await definitions.convert_here(
        client, HERE, CA, {name: definition(converted(ELSEWHERE)) for name in definitions.NAMES}
    )
    assert sent(transport) == ["GET", "PATCH"] * len(definitions.NAMES)


async def test_a_definition_of_which_a_watch_has_told_nothing_yet_is_read():
    transport, client = server(converted(HERE))
    await definitions.convert_here(client, HERE, CA)
    assert sent(transport) == ["GET"] * len(definitions.NAMES)


@pytest.mark.parametrize("write", [configurations.install, configurations.inject])
async def test_configurations_that_are_seen_to_be_right_are_not_read(write):
    transport, client = server()
    await write(client, WANTED, CA, AS_WANTED)
    assert sent(transport) == []


@pytest.mark.parametrize(
    ("write", "method"), [(configurations.install, "PATCH"), (configurations.inject, "PUT")], ids=["install", "inject"]
)
@pytest.mark.parametrize("known", [{}, OF_ANOTHER_CA], ids=["nothing is seen yet", "another CA is seen"])
async def test_configurations_that_may_be_wrong_are_read_and_written(write, method, known):
    transport, client = server(*OF_ANOTHER_CA.values())
    await write(client, WANTED, CA, known)
    assert sent(transport) == ["GET", method] * 2


async def test_a_configuration_that_is_seen_to_be_missing_is_installed_and_never_injected_into():
    for write, methods in ((configurations.inject, []), (configurations.install, ["GET", "PATCH"] * 2)):
        transport, client = server()
        await write(client, WANTED, CA, dict.fromkeys(AS_WANTED))
        assert sent(transport) == methods
