"""Who may dial in: the hub's authority, tokens, records and certificates, kept in Secrets of the hub's namespace."""

import base64
import binascii
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec

from hub.clusters.agents import records, tokens
from hub.clusters.agents.records import Record
from hub.clusters.agents.tokens import Token, TokenRefused
from worker_agent.api import document as documents
from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.need import Place
from worker_agent.api.resource_type import SECRETS
from worker_agent.kube import authority
from worker_agent.kube.authority import AuthorityError, KeyPair, Subject
from worker_agent.kube.client import Client
from worker_agent.kube.errors import AlreadyExists, Conflict, NotFound
from worker_agent.tunnel.protocol import AgentName, Application, Issued

AUTHORITY_SECRET: Final = "fedhub-authority"
FIELD_MANAGER: Final = "fedhub-enrolment"
ORGANISATION: Final = "fedhub:agents"
ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
TOKEN_BYTES: Final = 32
ATTEMPTS: Final = 3


NEEDS = (need.of(SECRETS, "get", "create", "update", "patch", "delete", place=Place.OWN_NAMESPACE),)


class Refused(Exception):
    """The agent is told ``message``; ``status`` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class AuthorityUnusable(Exception):
    """The Secret of the authority cannot be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Enrolments:
    """Every call reads what it decides on from the API server: several replicas answer agents at the same time.

    All raise ApiError and ConnectionError beside what they say. ``validity`` is that of agents' certificates.
    """

    client: Client
    namespace: str
    validity: timedelta = timedelta(days=30)

    async def authority(self) -> KeyPair:
        """The hub's own, made by whoever needs it first. Raises AuthorityUnusable."""
        for _ in range(ATTEMPTS):
            secret = await self._secret(AUTHORITY_SECRET)
            if secret is not None:
                return _pair(secret)
            made = authority.create("fedhub-agents", ("fedhub",), self.client.clock.now())
            try:
                await self._create(_authority_document(made, self.namespace))
            except AlreadyExists:
                continue  # another replica was first
            return made
        raise AuthorityUnusable(f"Secret {AUTHORITY_SECRET} appears and disappears; who else writes it?")

    async def issue_token(self, agent: str, lifetime: timedelta, owner: Document | None) -> Token:
        """A new token; earlier ones of this agent go on until they expire."""
        token = Token(
            "".join(secrets.choice(ALPHABET) for _ in range(8)),
            secrets.token_urlsafe(TOKEN_BYTES),
        )
        expires_at = self.client.clock.now() + lifetime
        await self._create(tokens.document(token, agent, self.namespace, expires_at, owner))
        return token

    async def enrol(self, application: Application) -> Issued:
        """A first certificate against a token. Raises Refused, AuthorityUnusable."""
        try:
            token = Token.parse(application.token)
        except TokenRefused as refused:
            raise Refused(403, str(refused)) from None
        name = AgentName(application.agent, token.id)
        issued, fingerprint = await self._sign(application, name)
        secret = await self._spend(token, application.agent, fingerprint)
        owners = documents.get(secret, "metadata.ownerReferences", [])
        await self._enter(Record(application.agent, token.id, application.cluster_uid), owners)
        return issued

    async def renew(self, name: AgentName, application: Application) -> Issued:
        """The next certificate of an agent that showed one. Raises Refused, AuthorityUnusable."""
        await self.confirm(name, application.cluster_uid)
        if application.agent != name.agent:
            raise Refused(403, f"this certificate is that of {name.agent!r}")
        issued, _ = await self._sign(application, name)
        return issued

    async def confirm(self, name: AgentName, cluster_uid: str) -> None:
        """Raises Refused unless certificates of this enrolment count, and come from the cluster that enrolled."""
        record = Record.read(await self._secret(records.key(self.namespace, name.agent).name))
        if record is None or record.enrolment != name.enrolment:
            raise Refused(
                403, f"the enrolment of {name.agent!r} has been withdrawn; enrol anew: fedhub enroll {name.agent}"
            )
        if record.cluster_uid != cluster_uid:
            raise Refused(
                403, f"the certificate of {name.agent!r} was issued to another cluster: its copy is of no use"
            )

    async def unenrol(self, agent: str, known: Iterable[Document]) -> bool:
        """Certificates and tokens of ``agent`` count no more; ``known`` are Secrets. False where there were none."""
        doomed = [tokens_name(secret) for secret in known if _concerns(secret, agent)]
        found = False
        for name in {*doomed, records.key(self.namespace, agent).name}:
            try:
                await self.client.delete(SECRETS, name, self.namespace)
            except NotFound:
                continue
            found = True
        return found

    async def sweep(self, known: Iterable[Document]) -> None:
        """Delete the tokens among these Secrets that have expired."""
        now = self.client.clock.now()
        for secret in [each for each in known if tokens.is_token(each) and tokens.is_expired(each, now)]:
            try:
                await self.client.delete(
                    SECRETS, tokens_name(secret), self.namespace, uid=documents.get(secret, "metadata.uid", "")
                )
            except (NotFound, Conflict):
                continue

    async def _sign(self, application: Application, name: AgentName) -> tuple[Issued, str]:
        own = await self.authority()
        subject = Subject(name.agent, (ORGANISATION,), uris=(name.uri,))
        try:
            certificate, fingerprint = authority.sign_request(
                own, application.request.encode(), subject, self.client.clock.now(), self.validity
            )
        except AuthorityError as error:
            raise Refused(400, str(error)) from None
        return Issued(certificate.decode(), own.certificate.decode()), fingerprint

    async def _spend(self, token: Token, agent: str, fingerprint: str) -> Document:
        """Bind the token to the key, once and for all replicas: the API server lets one writer win."""
        for _ in range(ATTEMPTS):
            secret = await self._secret(token.secret_name)
            try:
                tokens.check(secret, token, agent, fingerprint, self.client.clock.now())
            except TokenRefused as refused:
                raise Refused(403, str(refused)) from None
            assert secret is not None, "checked"
            try:
                await self.client.update(
                    SECRETS, tokens.used(secret, fingerprint), self.namespace, field_manager=FIELD_MANAGER
                )
            except (Conflict, NotFound):
                continue
            return secret
        raise Refused(409, "the token is in use by somebody else at this moment")

    async def _enter(self, record: Record, owners: list[Document]) -> None:
        document = record.document(self.namespace, owners)
        name = document["metadata"]["name"]
        await self.client.apply(SECRETS, name, self.namespace, document, field_manager=FIELD_MANAGER)

    async def _create(self, document: Document) -> None:
        await self.client.create(SECRETS, document, self.namespace, field_manager=FIELD_MANAGER)

    async def _secret(self, name: str) -> Document | None:
        try:
            found: Document = msgspec.json.decode(await self.client.get(SECRETS, name, self.namespace))
        except NotFound:
            return None
        return found


def tokens_name(secret: Document) -> str:
    return str(documents.get(secret, "metadata.name", ""))


def _concerns(secret: Document, agent: str) -> bool:
    return tokens.is_token(secret) and tokens.agent_of(secret) == agent


def _authority_document(made: KeyPair, namespace: str) -> Document:
    data = {"tls.crt": made.certificate, "tls.key": made.key}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": AUTHORITY_SECRET, "namespace": namespace},
        "type": "kubernetes.io/tls",
        "data": {name: base64.b64encode(value).decode() for name, value in data.items()},
    }


def _pair(secret: Document) -> KeyPair:
    data = secret.get("data") or {}
    try:
        pair = KeyPair(base64.b64decode(data["tls.crt"]), base64.b64decode(data["tls.key"]))
        authority.read(pair)
    except (KeyError, TypeError, binascii.Error, AuthorityError) as error:
        detail = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise AuthorityUnusable(
            f"Secret {AUTHORITY_SECRET}: {detail}; delete it to have a new one made, then enrol every agent anew"
        ) from None
    return pair
