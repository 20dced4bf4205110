"""Where the webhooks' certificates live: one Secret shared by all replicas, so that they agree on one CA."""

import logging
from collections.abc import Iterator, Sequence

import msgspec

from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.need import Place
from worker_agent.api.resource_type import SECRETS
from worker_agent.kube.client import Client
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import AlreadyExists, Conflict, NotFound
from worker_agent.webhooks import certificates
from worker_agent.webhooks.certificates import Bundle, CertificateError, Lifetimes

log = logging.getLogger(__name__)

WRITE_ATTEMPTS = 5


NEEDS = (need.of(SECRETS, "get", "create", "update", place=Place.OWN_NAMESPACE),)


class CertificateStore:
    """Reads, makes and renews the bundle in Secret ``namespace``/``name`` for ``hosts``."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        namespace: str,
        name: str,
        hosts: Sequence[str],
        lifetimes: Lifetimes = certificates.LIFETIMES,
    ) -> None:
        self._client = client
        self._clock = clock
        self._namespace = namespace
        self._name = name
        self._hosts = tuple(hosts)
        self._lifetimes = lifetimes

    async def ensure(self) -> Bundle:
        """The bundle that every replica uses now; made or renewed where needed. Raises ApiError, ConnectionError."""
        for _ in range(WRITE_ATTEMPTS):
            secret = await self._read()
            present = _bundle(secret)
            now = self._clock.now()
            wanted = certificates.renewed(present, self._hosts, now, self._lifetimes) if present else None
            if wanted is not None and wanted is present:
                return wanted
            bundle = wanted or certificates.create(self._hosts, now, self._lifetimes)
            for problem in _problems(secret, present):
                log.warning("Secret %s/%s: %s", self._namespace, self._name, problem)
            try:
                await self._write(secret, bundle)
            except (AlreadyExists, Conflict):
                continue  # another replica was faster; take what it made
            log.info("certificates written to Secret %s/%s: %s", self._namespace, self._name, _told(present, bundle))
            return bundle
        raise Conflict(409, "Conflict", f"Secret {self._namespace}/{self._name} is being changed all the time")

    def next_step_seconds(self, bundle: Bundle) -> float:
        """Until ``ensure`` has something to do again."""
        due = certificates.renewal_time(bundle, self._lifetimes)
        return max(0.0, (due - self._clock.now()).total_seconds())

    async def _read(self) -> Document | None:
        try:
            secret: Document = msgspec.json.decode(await self._client.get(SECRETS, self._name, self._namespace))
        except NotFound:
            return None
        return secret

    async def _write(self, secret: Document | None, bundle: Bundle) -> None:
        data = bundle.secret_data()
        if secret is not None:
            await self._client.update(
                SECRETS, {**secret, "data": {**(secret.get("data") or {}), **data}}, self._namespace
            )
            return
        document: Document = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": self._name, "namespace": self._namespace},
            "type": "Opaque",
            "data": data,
        }
        await self._client.create(SECRETS, document, self._namespace)


def _bundle(secret: Document | None) -> Bundle | None:
    try:
        return Bundle.from_secret((secret or {}).get("data") or {})
    except CertificateError:
        return None


def _problems(secret: Document | None, present: Bundle | None) -> Iterator[str]:
    """What of the Secret cannot be used, and what is done about it."""
    if present is not None and present.damaged:
        yield f"{', '.join(present.damaged)} cannot be read and is written anew; the CA stays"
    elif present is None and secret is not None:
        try:
            Bundle.from_secret(secret.get("data") or {})
        except CertificateError as error:
            yield f"{error}; everything is made anew"


def _told(before: Bundle | None, after: Bundle) -> str:
    """What became new, for the log: names of things, never the things."""
    if before is None or before.ca_certificate not in (after.ca_certificate, after.previous_ca):
        return "a new CA and a certificate by it"
    if before.ca_certificate != after.ca_certificate:
        return "a certificate by the next CA, the one before is still trusted"
    if after.following is not None and before.following is None:
        return "the next CA, trusted from now on beside the one in use"
    if before.previous_ca and not after.previous_ca:
        return "the CA before is not trusted any more"
    return "a new certificate"
