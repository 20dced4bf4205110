"""Who sends a request, by its bearer token, and whether they may: the cluster's API server is asked for both.

As Kueue serves its metrics: TokenReview, then SubjectAccessReview on the path. Answers are kept for a while.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from worker_agent.aggregated.access import Decisions, PathAccess
from worker_agent.aggregated.front_proxy import User
from worker_agent.aggregated.kept_answers import KeptAnswers
from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.resource_type import ResourceType
from worker_agent.kube.client import Client
from worker_agent.kube.errors import ApiError

TOKEN_REVIEWS: Final = ResourceType("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False)
KNOWN_SECONDS: Final = 60.0
UNKNOWN_SECONDS: Final = 10.0
"""How long a token counts as somebody's, or as nobody's."""

NOBODY: Final = User("")

NEEDS = (need.of(TOKEN_REVIEWS, "create", unseen="asked for when metrics are scraped, which these tests do not"),)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is answered instead."""

    status: int
    text: str


class BearerAccess:
    """``refusal(headers, access)`` is None for those who may."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._decisions = Decisions(client)
        self._users = KeptAnswers[bytes, User](client.clock)

    async def refusal(self, headers: Mapping[str, str], access: PathAccess) -> Refusal | None:
        """Who cannot be asked about is refused: 500, for it is no fault of theirs."""
        token = _token(headers.get("Authorization", ""))
        if not token:
            return Refusal(401, "Unauthorized")
        try:
            user = await self._user(token)
        except (ApiError, ConnectionError):
            return Refusal(500, "Authentication failed")
        if user == NOBODY:
            return Refusal(401, "Unauthorized")
        try:
            allowed = await self._decisions.is_allowed(user, access)
        except (ApiError, ConnectionError):
            return Refusal(500, f"Authorization for user {user.name} failed")
        return None if allowed else Refusal(403, f"Authorization denied for user {user.name}")

    async def _user(self, token: str) -> User:
        """NOBODY for a token that is not valid. Raises ApiError, ConnectionError."""
        # Tokens are not kept: a dump of memory or a mistake with a log would show them.
        mark = hashlib.sha256(token.encode()).digest()
        known = self._users.get(mark)
        if known is not None:
            return known
        review = {
            "apiVersion": TOKEN_REVIEWS.api_version,
            "kind": TOKEN_REVIEWS.kind,
            "metadata": {},
            "spec": {"token": token},
        }
        user = _asker(msgspec.json.decode(await self._client.create(TOKEN_REVIEWS, review)))
        self._users.put(mark, user, UNKNOWN_SECONDS if user == NOBODY else KNOWN_SECONDS)
        return user


def _token(header: str) -> str:
    """Empty where the header bears none that could be anybody's; bytes that are no text come as lone surrogates."""
    scheme, _, token = header.partition(" ")
    told = scheme.lower() == "bearer" and not any("\ud800" <= character <= "\udfff" for character in token)
    return token.strip() if told else ""


def _asker(review: Document) -> User:
    status = review.get("status") or {}
    user = status.get("user") or {}
    if status.get("authenticated") is not True or not user.get("username"):
        return NOBODY
    extra = {key: tuple(values) for key, values in (user.get("extra") or {}).items()}
    return User(user["username"], user.get("uid", ""), tuple(user.get("groups") or ()), extra)
