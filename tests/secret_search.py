"""What of a secret may be seen in a log, and whether it is: by lines, encoded and decoded, and its parts alone."""

import base64
import re
from collections.abc import Iterable, Iterator, Mapping

SHORTEST = 16
"""Characters from which a line of a secret is told from chance."""

PUBLIC = re.compile(r"(^|\.|-)(crt|pem|hubs|agent|cluster-uid|enrolment|ca|expires-at|expiration|used-by|namespace)$")
"""Keys of Secrets under which stands what anybody may know."""


def values(secrets: Iterable[Mapping]) -> Iterator[str]:
    """What only its owner may know of these documents of kind Secret."""
    for secret in secrets:
        for key, value in (secret.get("data") or {}).items():
            if not PUBLIC.search(key):
                yield base64.b64decode(value).decode()


def pieces(secret: str) -> set[str]:
    """As it may stand in a log, and the private parts of a kubeconfig by themselves."""
    found = {line.strip() for line in secret.splitlines()}
    found.add(base64.b64encode(secret.encode()).decode()[:80])
    found |= set(re.findall(r'(?:client-key-data|token)"?: "?([A-Za-z0-9+/=._-]{16,})', secret))
    for text in list(found):
        if re.fullmatch(r"[A-Za-z0-9+/]{64,}={0,2}", text) and len(text) % 4 == 0:
            found |= {line for line in base64.b64decode(text).decode(errors="ignore").splitlines()}
    return {text for text in found if len(text) >= SHORTEST and not text.startswith("-----")}


def seen(searched: Iterable[str], logs: Mapping[str, str]) -> dict[str, list[str]]:
    """Name of the log -> how what is seen there begins; logs without any are left out."""
    wanted = sorted(searched)
    found = {name: [text[:12] for text in wanted if text in log] for name, log in logs.items()}
    found |= {name: [*found[name], "PRIVATE KEY"] for name, log in logs.items() if "PRIVATE KEY" in log}
    return {name: texts for name, texts in found.items() if texts}
