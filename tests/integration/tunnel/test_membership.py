"""Enrolling, joining, leaving: who may dial in, and what the MultiKueueCluster says meanwhile."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from aiohttp import web

from hub.app import enrolling
from hub.clusters.agents import records, tokens
from hub.clusters.agents.listener import AgentListener
from hub.clusters.agents.tokens import Token
from tests.integration.federation.world import job, runs_on, until
from tests.integration.tunnel.world import CLOCK, SYSTEM, dialled
from worker_agent.api.resource_type import JOBS, MULTIKUEUE_CLUSTERS, SECRETS
from worker_agent.kube import authority
from worker_agent.tunnel import hub_api, joining, tls
from worker_agent.tunnel.hub_api import HubApi, HubRefused
from worker_agent.tunnel.identity import SECRET_NAME, IdentityStore
from worker_agent.tunnel.joining import JoinError
from worker_agent.tunnel.protocol import Application, Purpose


async def test_worker_that_dials_in_runs_jobs():
    async with dialled(east=4) as world:
        await until(lambda: world.is_active("east"), "the worker is Active")
        await world.manager.create(job("train"))
        await until(lambda: runs_on(world, "train"), "the job runs")
        assert await world.workers["east"].get(JOBS, "train")


@pytest.mark.embedded  # the hub answers here; of the API servers it asks nothing that the others do not
async def test_a_hub_that_does_not_say_which_replica_it_is_is_linked_all_the_same(monkeypatch):
    async def unknown_path(self: AgentListener, request: web.Request) -> web.Response:
        return web.Response(status=404)  # as hubs of the version before

    monkeypatch.setattr(AgentListener, "_give_replica", unknown_path)
    async with dialled(east=4) as world:
        await until(lambda: world.is_active("east"), "the worker is Active")
        assert world.services["east"].linked == [world.address]


@pytest.mark.embedded  # the hub answers here; of the API servers it asks nothing that the others do not
async def test_a_replica_refuses_what_was_meant_for_another():
    async with dialled(east=4) as world:
        identity = await IdentityStore(world.workers["east"].client, SYSTEM).load()
        uid = await joining.cluster_uid(world.workers["east"].client)
        async with hub_api.of(identity, world.address) as hub:
            with pytest.raises(HubRefused, match="another replica was meant"):
                await hub.tunnel(Purpose.REQUESTS, "a" * 32, uid, "the other one")


async def test_cluster_says_why_it_is_not_connected():
    async with dialled(east=4, joined=False) as world:
        await world.served()
        invitation = await world.invited("east")
        await until(lambda: world.has_reason("east", "AgentNotEnrolled"), "it says that nobody enrolled")
        assert "fedhub enroll east" in (await world.active("east"))["message"]
        await world.stop("east")
        await joining.join(world.workers["east"].client, SYSTEM, invitation, CLOCK.now())
        await until(lambda: world.has_reason("east", "AgentNotConnected"), "it says that nobody dialled")
        assert 'agent "east" is not connected' in (await world.active("east"))["message"]
        world.start_worker("east")
        await until(lambda: world.is_active("east"), "it is tried at once when the agent comes")


async def test_a_hub_that_serves_no_agents_says_so():
    async with dialled(east=4, joined=False) as world:
        await world.served()
        await world.invited("east")
        await world.stop("hub")
        world.start_hub()
        await until(lambda: world.has_reason("east", "AgentsNotServed"), "it says what to set")
        assert "federation.agents.bindAddress" in (await world.active("east"))["message"]


@pytest.mark.embedded  # a real control plane would be asked through that proxy too
async def test_proxy_of_the_environment_is_used(monkeypatch):
    connects: list[str] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connects.append((await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[0])
        host, _, port = connects[-1].split()[1].partition(":")
        there, back = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(pumped(reader, back), pumped(there, writer), return_exceptions=True)

    server = await asyncio.start_server(proxy, "127.0.0.1", 0)
    async with server:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        monkeypatch.setenv("NO_PROXY", "")
        monkeypatch.setenv("no_proxy", "")
        async with dialled(east=4) as world:
            await until(lambda: world.is_active("east"), "the worker is Active")
            assert set(connects) == {f"CONNECT 127.0.0.1:{world.port} HTTP/1.1"}


async def pumped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def test_joining_twice_is_fine():
    async with dialled(east=4) as world:
        again = await joining.join(world.workers["east"].client, SYSTEM, await world.invited("east"), CLOCK.now())
        assert not again.anew


async def test_token_works_for_one_key_only_and_its_answer_may_be_lost():
    async with dialled(east=4, west=4, joined=False) as world:
        await world.served()
        invitation = await world.invited("east")
        client = world.workers["east"].client
        first = await joining.join(client, SYSTEM, invitation, CLOCK.now())
        pending = replace(first.identity, certificate=b"", token_id=invitation.token_id)
        await IdentityStore(client, SYSTEM).save(pending)  # as if the answer had not arrived
        again = await joining.join(client, SYSTEM, invitation, CLOCK.now())
        assert again.anew
        assert again.identity.key == first.identity.key
        with pytest.raises(JoinError, match="has been used already"):
            await joining.join(world.workers["west"].client, SYSTEM, invitation, CLOCK.now())


async def test_expired_and_foreign_tokens_are_refused():
    async with dialled(east=4, west=4, joined=False) as world:
        await world.served()
        late = await world.invited("east", timedelta(seconds=-1))
        client = world.workers["east"].client
        with pytest.raises(JoinError, match="has expired"):
            await joining.join(client, SYSTEM, late, CLOCK.now())
        others = replace(await world.invited("west"), agent="east")
        with pytest.raises(JoinError, match="not issued for 'east'"):
            await joining.join(client, SYSTEM, others, CLOCK.now())
        guessed = replace(others, token=f"{others.token_id}.{'x' * 43}")
        with pytest.raises(JoinError, match="not known"):
            await joining.join(client, SYSTEM, guessed, CLOCK.now())


async def test_token_is_not_shown_to_a_hub_that_is_not_the_pinned_one():
    async with dialled(east=4, joined=False) as world:
        await world.served()
        invitation = replace(await world.invited("east"), pin="sha256:" + "0" * 64)
        with pytest.raises(JoinError, match="the token was not sent"):
            await joining.join(world.workers["east"].client, SYSTEM, invitation, CLOCK.now())
        token = Token.parse(invitation.token)
        secret = await world.manager.get(SECRETS, token.secret_name, SYSTEM)
        assert "used-by" not in secret["data"]


async def test_the_key_and_the_token_stay_where_they_were_made():
    async with dialled(east=4) as world:
        identity = await IdentityStore(world.workers["east"].client, SYSTEM).load()
        assert identity is not None
        there = b"".join([raw for raw in (await world.manager.client.list(SECRETS)).items])
        assert identity.key not in there
        invitation = await world.invited("east")
        secret = Token.parse(invitation.token).secret
        assert secret.encode() not in b"".join((await world.manager.client.list(SECRETS)).items)


async def test_withdrawn_enrolment_ends_the_connection_and_keeps_it_out():
    async with dialled(east=4) as world:
        await until(lambda: world.is_active("east"), "the worker is Active")
        identity = await IdentityStore(world.workers["east"].client, SYSTEM).load()
        assert await enrolling.withdraw(world.manager.client, SYSTEM, "east")
        await until(lambda: world.has_reason("east", "AgentNotEnrolled"), "contact ends")
        async with hub_api.of(identity, world.address) as hub:
            with pytest.raises(HubRefused, match="has been withdrawn"):
                await hub.tunnel(Purpose.REQUESTS, "a" * 32, "uid")
            with pytest.raises(HubRefused, match="has been withdrawn"):
                await hub.renew(Application("east", authority.request("east")[1].decode(), "uid"))


async def test_who_was_sent_away_and_is_invited_again_joins_anew():
    async with dialled(east=4) as world:
        await enrolling.withdraw(world.manager.client, SYSTEM, "east")
        again = await joining.join(world.workers["east"].client, SYSTEM, await world.invited("east"), CLOCK.now())
        assert again.anew
        await until(lambda: world.is_active("east"), "the new certificate is used")


async def test_deleting_the_cluster_withdraws_its_enrolment():
    async with dialled(east=4) as world:
        await until(lambda: world.is_active("east"), "the worker is Active")
        record = await world.manager.get(SECRETS, records.SECRET_PREFIX + "east", SYSTEM)
        (owner,) = record["metadata"]["ownerReferences"]
        cluster = await world.manager.get(MULTIKUEUE_CLUSTERS, "east")
        assert (owner["kind"], owner["uid"]) == ("MultiKueueCluster", cluster["metadata"]["uid"])


async def test_new_enrolment_makes_earlier_certificates_worthless():
    async with dialled(east=4) as world:
        old = await IdentityStore(world.workers["east"].client, SYSTEM).load()
        await joining.join(world.workers["east"].client, SYSTEM, await world.invited("east"), CLOCK.now(), replace=True)
        async with hub_api.of(old, world.address) as hub:
            with pytest.raises(HubRefused, match="has been withdrawn"):
                await hub.tunnel(Purpose.REQUESTS, "a" * 32, "uid")
        await until(lambda: world.is_active("east"), "the new one is used")


async def test_copied_identity_is_of_no_use_in_another_cluster():
    async with dialled(east=4, west=4, joined=False) as world:
        await world.served()
        joined = await world.join("east")
        await IdentityStore(world.workers["west"].client, SYSTEM).save(joined.identity)
        uid = await joining.cluster_uid(world.workers["west"].client)
        async with hub_api.of(joined.identity, world.address) as hub:
            with pytest.raises(HubRefused, match="issued to another cluster"):
                await hub.tunnel(Purpose.REQUESTS, "a" * 32, uid)


@pytest.mark.embedded  # the hub answers here; of the API servers it asks nothing that the others do not
async def test_certificate_of_one_cluster_is_not_that_of_another():
    async with dialled(east=4, west=4) as world:
        east = await IdentityStore(world.workers["east"].client, SYSTEM).load()
        uid = await joining.cluster_uid(world.workers["east"].client)
        async with hub_api.of(east, world.address) as hub:
            with pytest.raises(HubRefused, match="this certificate is that of 'east'"):
                await hub.renew(Application("west", authority.request("west")[1].decode(), uid))


@pytest.mark.embedded  # the hub answers here; of the API servers it asks nothing that the others do not
async def test_foreign_certificates_do_not_get_in():
    async with dialled(east=4) as world:
        east = await IdentityStore(world.workers["east"].client, SYSTEM).load()
        forger = authority.create("fedhub-agents", ("fedhub",), CLOCK.now())
        uris = authority.read_peer(east.certificate).uris
        subject = authority.Subject("east", uris=uris)
        forged = authority.sign(forger, subject, authority.Usage.CLIENT, CLOCK.now())
        async with HubApi(world.address, tls.client(east.authority, forged)) as hub:
            with pytest.raises((ConnectionError, HubRefused)):
                await hub.tunnel(Purpose.REQUESTS, "a" * 32, "uid")
        async with HubApi(world.address, tls.client(east.authority)) as hub:
            with pytest.raises(HubRefused, match="client certificate is needed"):
                await hub.tunnel(Purpose.REQUESTS, "a" * 32, "uid")


async def test_expired_tokens_are_swept():
    async with dialled(east=4, joined=False) as world:
        await world.served()
        await world.invited("east", timedelta(seconds=-1))
        enrolments = world.hub.door._enrolments
        await enrolments.sweep([each for each in await world.manager.all(SECRETS)])
        assert not [each for each in await world.manager.all(SECRETS) if tokens.is_token(each)]


async def test_leaving_ends_the_connection():
    async with dialled(east=4) as world:
        await until(lambda: world.is_active("east"), "the worker is Active")
        assert await IdentityStore(world.workers["east"].client, SYSTEM).delete()
        await until(lambda: not world.services["east"].linked, "the link is given up")
        assert await world.workers["east"].get(SECRETS, SECRET_NAME, SYSTEM) is None
