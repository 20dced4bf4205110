"""How a cluster becomes a member of a federation: a one-time token against a certificate, for a key that stays here."""

import hmac
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from worker_agent.api import need
from worker_agent.api.meta import Object
from worker_agent.api.resource_type import NAMESPACES
from worker_agent.kube import authority
from worker_agent.kube.authority import AuthorityError
from worker_agent.kube.client import Client
from worker_agent.kube.errors import AlreadyExists
from worker_agent.tunnel import hub_api, tls
from worker_agent.tunnel.hub_api import HubApi, HubRefused
from worker_agent.tunnel.identity import Identity, IdentityStore
from worker_agent.tunnel.protocol import Application

WITHDRAWN: Final = 403
CLUSTER_ID_NAMESPACE: Final = "kube-system"
"""Its uid is the customary identity of a cluster."""


NEEDS = (
    need.of(NAMESPACES, "get", names=(CLUSTER_ID_NAMESPACE,)),
    need.of(NAMESPACES, "create", outside=True),
)


class JoinError(Exception):
    """The cluster could not join; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """What ``fedhub enroll`` printed. The token must not reach a log."""

    agent: str
    hubs: tuple[str, ...]
    token: str
    pin: str

    def __repr__(self) -> str:
        return f"Invitation(agent={self.agent!r}, hubs={self.hubs!r}, token=...)"

    @property
    def token_id(self) -> str:
        return self.token.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Joined:
    """``anew`` is False where the cluster was a member already and is one still."""

    identity: Identity
    anew: bool


async def cluster_uid(client: Client) -> str:
    """Raises ApiError and ConnectionError."""
    raw = await client.get(NAMESPACES, CLUSTER_ID_NAMESPACE)
    return msgspec.json.decode(raw, type=Object).metadata.uid


async def join(
    client: Client, namespace: str, invitation: Invitation, now: datetime, *, replace: bool = False
) -> Joined:
    """Doing it twice is fine; who has joined, and was sent away since, joins anew.

    Raises JoinError, IdentityError, ApiError and ConnectionError.
    """
    store = IdentityStore(client, namespace)
    found = await store.load()
    uid = await cluster_uid(client)
    if found is not None and found.certificate and not replace:
        _refuse_other(found, invitation, now)
        if await _is_known(found, invitation.hubs, uid):
            return await _member(store, found, invitation)
    address, pem = await _authority(invitation)
    pending = await _pending(client, namespace, invitation, found, pem)
    async with HubApi(address, tls.client(pem)) as hub:
        application = Application(
            invitation.agent, authority.request_for(pending.key, invitation.agent).decode(), uid, invitation.token
        )
        try:
            issued = await hub.enrol(application)
        except HubRefused as refused:
            raise JoinError(str(refused)) from None
    identity = pending.with_certificate(pending.key, issued.certificate.encode(), issued.authority.encode())
    await store.save(identity)
    return Joined(identity, anew=True)


def _refuse_other(found: Identity, invitation: Invitation, now: datetime) -> None:
    """Raises JoinError where the cluster's certificate is no earlier one of this very membership."""
    if found.agent != invitation.agent:
        raise JoinError(
            f"this cluster has joined as {found.agent!r} already; to make it {invitation.agent!r}, add --replace"
        )
    if now >= found.expires_at or not _pinned(found.authority, invitation.pin):
        raise JoinError(
            f"this cluster has joined as {found.agent!r}, but with a certificate that"
            f" {'has expired' if now >= found.expires_at else 'is of another hub'}; to join anew, add --replace"
        )


async def _is_known(found: Identity, hubs: tuple[str, ...], uid: str) -> bool:
    """Whether the hub still counts the certificate, which it may have withdrawn; where it cannot be asked, it may."""
    try:
        await renewed(Identity(found.agent, hubs, found.authority, found.key, found.certificate), uid)
    except HubRefused as refused:
        return refused.status != WITHDRAWN
    except tls.UnusablePair:
        return False
    except ConnectionError:
        return True
    return True


async def _member(store: IdentityStore, found: Identity, invitation: Invitation) -> Joined:
    """The certificate stays as it is, at most the addresses are new."""
    if set(found.hubs) != set(invitation.hubs):
        found = Identity(found.agent, invitation.hubs, found.authority, found.key, found.certificate)
        await store.save(found)
    return Joined(found, anew=False)


async def _pending(
    client: Client, namespace: str, invitation: Invitation, found: Identity | None, pem: bytes
) -> Identity:
    """The key that will be certified, stored before anybody is asked."""
    if found is not None and not found.certificate and found.token_id == invitation.token_id:
        return Identity(found.agent, invitation.hubs, pem, found.key)
    key, _ = authority.request(invitation.agent)
    pending = Identity(invitation.agent, invitation.hubs, pem, key, token_id=invitation.token_id)
    if found is None or not found.certificate:
        await _ensure_namespace(client, namespace)
        await IdentityStore(client, namespace).save(pending)
    return pending


async def _authority(invitation: Invitation) -> tuple[str, bytes]:
    """The first address that answers, and its authority, checked against the pin."""
    failures: list[str] = []
    for address in invitation.hubs:
        try:
            async with HubApi(address, tls.unverified()) as hub:
                pem = await hub.authority()
        except HubRefused as refused:
            raise JoinError(str(refused)) from None
        except ConnectionError as error:
            failures.append(str(error))
            continue
        if not _pinned(pem, invitation.pin):
            raise JoinError(
                f"{address}: its authority is not the one of the join command: somebody stands in between, or the"
                " command is of another hub; the token was not sent"
            )
        return address, pem
    raise ConnectionError("; ".join(failures))


def _pinned(pem: bytes, pin: str) -> bool:
    try:
        return hmac.compare_digest(authority.pin(pem), pin)
    except AuthorityError:
        return False


async def _ensure_namespace(client: Client, namespace: str) -> None:
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    try:
        await client.create(NAMESPACES, document)
    except AlreadyExists:
        return


async def renewed(identity: Identity, uid: str) -> Identity:
    """``identity`` with a new key and certificate. Raises HubRefused, ConnectionError where no hub could be asked."""
    key, request = authority.request(identity.agent)
    application = Application(identity.agent, request.decode(), uid)
    failure: Exception = ConnectionError("no address of the hub is known")
    for address in identity.hubs:
        try:
            async with hub_api.of(identity, address) as hub:
                issued = await hub.renew(application)
        except (ConnectionError, HubRefused) as error:
            failure = error
            continue
        return identity.with_certificate(key, issued.certificate.encode(), issued.authority.encode())
    raise failure
