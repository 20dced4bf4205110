"""Webhooks: they reach a ready endpoint, and the CA they name has signed a certificate that still holds."""

import base64
import binascii
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from hub.app.doctor import finding, program
from hub.app.doctor.finding import Finding
from hub.app.doctor.snapshot import ENDPOINT_SLICES, Snapshot
from worker_agent.aggregated.registration import SERVICES
from worker_agent.api.document import Document
from worker_agent.api.resource_type import CUSTOM_RESOURCE_DEFINITIONS, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from worker_agent.kube import authority
from worker_agent.kube.authority import AuthorityError

NAME = "webhooks"
READS = (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, CUSTOM_RESOURCE_DEFINITIONS, SERVICES, ENDPOINT_SLICES)
_SOON = timedelta(days=7)


def check(snapshot: Snapshot) -> Iterator[Finding]:
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        short = resource.kind.removesuffix("Configuration").lower()
        ours = [each for each in snapshot.all(resource) if _is_ours(snapshot, each)]
        if not ours:
            yield finding.error(
                f"{short}/{snapshot.program}",
                "there is no such configuration: jobs are neither held nor checked when they are created",
                "install the manifests of this program again",
            )
        for configuration in ours:
            about = f"{short}/{configuration['metadata']['name']}"
            clients = [hook["clientConfig"] for hook in configuration.get("webhooks") or ()]
            yield from _clients(snapshot, about, clients)
    yield from _certificates(snapshot)


def conversions(snapshot: Snapshot) -> Iterator[tuple[str, Document]]:
    """By definition, where conversion is asked for."""
    for each in snapshot.all(CUSTOM_RESOURCE_DEFINITIONS):
        conversion = each["spec"].get("conversion") or {}
        if each["spec"]["group"] == "kueue.x-k8s.io" and conversion.get("strategy") == "Webhook":
            yield f"crd/{each['metadata']['name']}", conversion["webhook"]["clientConfig"]


def _is_ours(snapshot: Snapshot, configuration: Document) -> bool:
    name = str(configuration["metadata"]["name"])
    if name.startswith((snapshot.program, "fedhub-", "kueue-")):
        return True
    services = [(hook.get("clientConfig") or {}).get("service") or {} for hook in configuration.get("webhooks") or ()]
    places = [(str(each.get("name", "")), str(each.get("namespace", ""))) for each in services]
    return any(program.serves(snapshot.find(SERVICES, *place), snapshot.deployment) for place in places)


def _clients(snapshot: Snapshot, about: str, clients: list[Document]) -> Iterator[Finding]:
    """Hooks of one configuration usually go to one place: each place is told of once."""
    seen: list[Any] = []
    for client in clients:
        place = (client.get("service") or {}).get("namespace"), (client.get("service") or {}).get("name")
        bundle = client.get("caBundle") or ""
        if (place, bundle) in seen:
            continue
        seen.append((place, bundle))
        if not bundle:
            yield finding.error(
                about,
                "has no CA bundle: the API server cannot call it",
                "the program puts it in when it starts: see its log, and whether it may update this configuration",
            )
        else:
            yield from _bundle(snapshot, about, bundle)
        if place[1]:
            yield from _endpoint(snapshot, about, str(place[0]), str(place[1]))


def _bundle(snapshot: Snapshot, about: str, text: str) -> Iterator[Finding]:
    """While a CA is replaced several are named: the one that signs now has to be among them."""
    remedy = "restart the program: it puts the CA of its certificate in"
    try:
        bundle = base64.b64decode(text, validate=True)
        ends = [each.not_valid_after_utc for each in authority.read_certificates(bundle)]
    except (AuthorityError, ValueError):
        yield finding.error(about, "its CA bundle is no certificate", remedy)
        return
    if max(ends) < snapshot.now:
        yield finding.error(about, f"the CA it names expired at {max(ends):%Y-%m-%dT%H:%M:%SZ}", remedy)
    signers = [base64.b64decode(each["data"]["ca.crt"]).strip() for each in _own_secrets(snapshot).values()]
    if signers and not any(signer in bundle for signer in signers):
        yield finding.error(about, "the CA it names is not that of any certificate here: calls to it fail", remedy)


def _endpoint(snapshot: Snapshot, about: str, namespace: str, name: str) -> Iterator[Finding]:
    if snapshot.find(SERVICES, name, namespace) is None:
        yield finding.error(
            about,
            f"asks Service {namespace}/{name}, which is not there: what it guards cannot be created",
            "install the manifests of the program again, or delete the configuration if the program is gone",
        )
    elif not ready_endpoints(snapshot, namespace, name):
        yield finding.error(
            about,
            f"asks Service {namespace}/{name}, which has no ready endpoint: what it guards cannot be created",
            f"kubectl get pods -n {namespace}; see the log of the program",
        )


def ready_endpoints(snapshot: Snapshot, namespace: str, service: str) -> int:
    """Addresses behind a Service that take requests."""
    count = 0
    for each in snapshot.all(ENDPOINT_SLICES):
        metadata = each["metadata"]
        if (metadata["namespace"], (metadata.get("labels") or {}).get("kubernetes.io/service-name")) != (
            namespace,
            service,
        ):
            continue
        for endpoint in each.get("endpoints") or ():
            if (endpoint.get("conditions") or {}).get("ready", True) is not False:
                count += len(endpoint.get("addresses") or ())
    return count


def _own_secrets(snapshot: Snapshot) -> dict[str, Document]:
    """Secrets of the namespace that hold a server's certificate with its CA."""
    return {
        name: each
        for name, each in (snapshot.secrets or {}).items()
        if {"ca.crt", "tls.crt"} <= (each.get("data") or {}).keys() and "cert" in name
    }


def _certificates(snapshot: Snapshot) -> Iterator[Finding]:
    for name, secret in sorted(_own_secrets(snapshot).items()):
        about = f"secret/{snapshot.namespace}/{name}"
        remedy = f"kubectl delete secret {name} -n {snapshot.namespace}: the program makes a new one"
        for key in ("ca.crt", "tls.crt"):
            try:
                certificate = authority.read_certificate(base64.b64decode(secret["data"][key], validate=True))
            except (AuthorityError, binascii.Error, ValueError):
                yield finding.error(about, f"{key} is no certificate", remedy)
                continue
            end = certificate.not_valid_after_utc
            if end < snapshot.now:
                yield finding.error(about, f"{key} expired at {end:%Y-%m-%dT%H:%M:%SZ}", remedy)
            elif end < snapshot.now + _SOON:
                yield finding.warning(about, f"{key} expires at {end:%Y-%m-%dT%H:%M:%SZ} and was not renewed", remedy)
