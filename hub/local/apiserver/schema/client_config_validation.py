"""How a webhook, a conversion or an aggregated API says where it is reached, checked.

Source: k8s.io/apiserver pkg/util/webhook/validation.go.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from hub.local.apiserver.schema import field_errors, name_rules
from hub.local.apiserver.schema.field_errors import FieldError
from worker_agent.api.document import Document

FORM: Final = "; desired format: https://host[/path]"
REVIEW_VERSIONS: Final = ("v1", "v1beta1")
PORT_WORDS: Final = "port is not valid: must be between 1 and 65535, inclusive"


def errors(client: Document, path: str) -> Iterator[FieldError]:
    """A ``clientConfig``: exactly one of a URL and a Service, and that one well-formed."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield field_errors.required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _url_errors(url, f"{path}.url")
    elif service is not None:
        yield from _service_errors(service, f"{path}.service")


def _url_errors(url: str, path: str) -> Iterator[FieldError]:
    try:
        parts = urlsplit(url)
    except ValueError as problem:
        yield field_errors.required(path, f"url must be a valid URL: {problem}{FORM}")
        return
    if parts.scheme != "https":
        yield field_errors.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{FORM}")
    if not parts.netloc:
        yield field_errors.invalid(path, "", f"host must be specified{FORM}")
    if "@" in parts.netloc:
        user = parts.netloc.rpartition("@")[0]
        yield field_errors.invalid(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield field_errors.invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield field_errors.invalid(path, parts.query, "query parameters are not permitted in the URL")


def _service_errors(service: Document, path: str) -> Iterator[FieldError]:
    for name in ("name", "namespace"):
        if not service.get(name):
            yield field_errors.required(f"{path}.{name}")
    yield from port_errors(service, path)
    place = service.get("path") or "/"
    if place == "//":
        yield field_errors.invalid(f"{path}.path", place, "segment[0] may not be empty")
    elif not place.startswith("/"):
        yield field_errors.invalid(f"{path}.path", place, "must start with a '/'")
    elif place != "/":
        for index, segment in enumerate(place[1:].removesuffix("/").split("/")):
            if not segment:
                yield field_errors.invalid(f"{path}.path", place, f"segment[{index}] may not be empty")
                continue
            for complaint in name_rules.dns1123_subdomain(segment):
                yield field_errors.invalid(f"{path}.path", place, f"segment[{index}]: {complaint}")


def port_errors(service: Document, path: str) -> Iterator[FieldError]:
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        yield field_errors.invalid(f"{path}.port", port, PORT_WORDS)


def review_version_errors(versions: Sequence[str], path: str, detail: str = "") -> Iterator[FieldError]:
    """The review versions a webhook understands: one of them must be known here."""
    if not versions:
        yield field_errors.required(path, detail)
    elif not set(versions) & set(REVIEW_VERSIONS):
        words = f"must include at least one of {', '.join(REVIEW_VERSIONS)}"
        yield field_errors.invalid(path, list(versions), words)


def api_service_errors(document: Document, old: Any, subresource: str) -> Iterator[FieldError]:
    """Source: kube-aggregator pkg/apis/apiregistration/validation."""
    if subresource:
        return
    spec = document.get("spec") or {}
    version, group, name = spec.get("version") or "", spec.get("group") or "", document["metadata"].get("name") or ""
    wanted = f"{version}.{group}"
    if name != wanted:
        words = f'must be `spec.version+"."+spec.group`: {field_errors.quote(wanted)}'
        yield field_errors.invalid("metadata.name", name, words)
    for complaint in name_rules.dns1035_label(version):
        yield field_errors.invalid("spec.version", version, complaint)
    for field, most in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        value = spec.get(field, 0)
        if not 0 < value <= most:
            yield field_errors.invalid(f"spec.{field}", value, f"must be positive and less than {most}")
    yield from _reach_errors(spec)


def _reach_errors(spec: Document) -> Iterator[FieldError]:
    service, bundle, insecure = spec.get("service"), spec.get("caBundle"), spec.get("insecureSkipTLSVerify")
    if service is None:
        if bundle:
            yield field_errors.invalid(
                "spec.caBundle", f"{len(bundle)} bytes", "local APIServices may not have a caBundle"
            )
        if insecure:
            words = "local APIServices may not have insecureSkipTLSVerify"
            yield field_errors.invalid("spec.insecureSkipTLSVerify", True, words)
        return
    for name in ("namespace", "name"):
        if not service.get(name):
            yield field_errors.required(f"spec.service.{name}")
    yield from port_errors(service, "spec.service")
    if insecure and bundle:
        yield field_errors.invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present")
