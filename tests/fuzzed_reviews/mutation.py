"""What is done to real reviews: seeded, so that a finding can be repeated. Pure but for the generator given."""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from tests.fuzzed_reviews.seeds import Seed

LARGE: Final = 3 * 1024 * 1024
TEXTS: Final = (
    "",
    " ",
    "\x00",
    "\ud800",
    "\u202e\u0645\u0631\u062d\u0628\u0627",
    "e\u0301" * 200,
    "\U0001f4a5" * 300,
    "a" * 70_000,
    "../../etc/passwd",
    "9" * 5_000,
    "1e400",
    "-1",
    "0x10",
    "kube-system",
    "-----BEGIN",
    "{}",
)
NUMBERS: Final = (-1, 0, 1 << 31, -(1 << 31), 1 << 63, -(1 << 63) - 1, 10**400, 1e308, -1e-320, 0.5)
OPERATIONS: Final = ("DELETE", "CONNECT", "create", "", "PATCH", "\u0000", "UPDATE,CREATE")


@dataclass(frozen=True, slots=True)
class Attack:
    """A request: ``sort`` names what was done; ``uid`` is what an answer must carry, None where nothing can."""

    sort: str
    path: str
    body: bytes
    uid: str | None


def attack(seed: Seed, random: Random) -> Attack:
    """One to three mutations of the document, or one of its text."""
    if random.random() < 0.25:
        sort, change = random.choice(list(TEXT_CHANGES.items()))
        body = change(_text(seed.review), random)
        return Attack(sort, seed.path, body, None)
    review = copy.deepcopy(seed.review)
    done = []
    for _ in range(random.randint(1, 3)):
        sort = random.choice(list(DOCUMENT_CHANGES))
        DOCUMENT_CHANGES[sort](review, random)
        done.append(sort)
    path = seed.path
    if random.random() < 0.03:
        path = random.choice(("/validate-example-com-v1-unknown", "/", "/mutate--v1-pod/../x", f"{seed.path}?x=1"))
        done.append("unknown path")
    request = review.get("request")
    uid = request.get("uid") if isinstance(request, dict) else None
    return Attack("+".join(done), path, _text(review), uid if isinstance(uid, str) and uid else None)


def _text(document: object) -> bytes:
    return json.dumps(document).encode()


def _places(document: Any, under: str = "") -> list[tuple[Any, Any]]:
    """Every (container, key) below; ``under`` limits it to one member of the request."""
    root = document
    if under:
        root = (document.get("request") or {}).get(under)
    found: list[tuple[Any, Any]] = []
    waiting = [root]
    while waiting:
        at = waiting.pop()
        members = at.items() if isinstance(at, dict) else enumerate(at) if isinstance(at, list) else ()
        for key, value in members:
            found.append((at, key))
            waiting.append(value)
    return found


def _place(review: Any, random: Random) -> tuple[Any, Any] | None:
    """Mostly inside the object, where the rules look."""
    under = random.choice(("object", "object", "object", "oldObject", ""))
    try:
        places = _places(review, under)
    except AttributeError:  # the request itself was made something else
        places = _places(review)
    return random.choice(places) if places else None


def _odd(random: Random) -> Any:
    odd: tuple[Any, ...] = (
        None,
        True,
        [],
        {},
        [None],
        [[]],
        {"": ""},
        [{}],
        random.choice(TEXTS),
        random.choice(NUMBERS),
    )
    return random.choice(odd)


def _replace(review: Any, random: Random) -> None:
    if (found := _place(review, random)) is not None:
        found[0][found[1]] = _odd(random)


def _remove(review: Any, random: Random) -> None:
    if (found := _place(review, random)) is not None:
        del found[0][found[1]]


def _text_value(review: Any, random: Random) -> None:
    if (found := _place(review, random)) is not None:
        found[0][found[1]] = random.choice(TEXTS)


def _number(review: Any, random: Random) -> None:
    if (found := _place(review, random)) is not None:
        found[0][found[1]] = random.choice(NUMBERS)


def _new_key(review: Any, random: Random) -> None:
    found = _place(review, random)
    if found is not None and isinstance(found[0], dict):
        found[0][random.choice(TEXTS)] = _odd(random)


def _repeat(review: Any, random: Random) -> None:
    """A list with its elements many times over."""
    lists = [at[key] for at, key in _places(review) if isinstance(at[key], list) and at[key]]
    if lists:
        chosen = random.choice(lists)
        chosen.extend([chosen[0]] * random.choice((1, 7, 300)))


def _nest(review: Any, random: Random) -> None:
    value: Any = "deep"
    for _ in range(random.choice((20, 100, 250))):
        value = {"a": value} if random.random() < 0.5 else [value]
    if (found := _place(review, random)) is not None:
        found[0][found[1]] = value


def _swap(review: Any, random: Random) -> None:
    request = review.get("request")
    if isinstance(request, dict):
        request["object"], request["oldObject"] = request.get("oldObject"), request.get("object")


def _operation(review: Any, random: Random) -> None:
    request = review.get("request")
    if isinstance(request, dict):
        request["operation"] = random.choice((*OPERATIONS, *NUMBERS[:2], None))


def _other_kind(review: Any, random: Random) -> None:
    request = review.get("request")
    if isinstance(request, dict) and isinstance(request.get("object"), dict):
        request["object"]["kind"] = random.choice(("Job", "Pod", "Secret", "Workload", "", "AdmissionReview"))


def _envelope(review: Any, random: Random) -> None:
    key = random.choice(("kind", "apiVersion", "request"))
    if random.random() < 0.5:
        review.pop(key, None)
    else:
        review[key] = _odd(random)


def _uid(review: Any, random: Random) -> None:
    request = review.get("request")
    if isinstance(request, dict):
        request["uid"] = _odd(random)


DOCUMENT_CHANGES: Final[dict[str, Callable[[Any, Random], None]]] = {
    "replace": _replace,
    "remove": _remove,
    "text": _text_value,
    "number": _number,
    "new key": _new_key,
    "repeat": _repeat,
    "nest": _nest,
    "swap": _swap,
    "operation": _operation,
    "other kind": _other_kind,
    "envelope": _envelope,
    "uid": _uid,
}


def _cut(text: bytes, random: Random) -> bytes:
    return text[: random.randrange(len(text))]


def _flipped(text: bytes, random: Random) -> bytes:
    changed = bytearray(text)
    for _ in range(random.randint(1, 20)):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def _noise(text: bytes, random: Random) -> bytes:
    return random.randbytes(random.choice((0, 1, 100, 60_000)))


def _twice(text: bytes, random: Random) -> bytes:
    """Duplicate keys: the first one of the text is said again, with another value."""
    at = random.choice([index for index, byte in enumerate(text) if byte == ord("{")])
    key = random.choice((b"spec", b"metadata", b"request", b"object", b"uid", b"labels"))
    return text[: at + 1] + b'"' + key + b'": ' + _text(_odd(random)) + b", " + text[at + 1 :]


def _abyss(text: bytes, random: Random) -> bytes:
    """Nesting deeper than any stack, inside an otherwise good review."""
    depth = random.choice((1_000, 20_000, 200_000))
    return text.replace(b'"options": ', b'"extra": ' + b"[" * depth + b"]" * depth + b', "options": ', 1)


def _deep_object(text: bytes, random: Random) -> bytes:
    depth = random.choice((900, 1_100, 50_000))
    return text.replace(b'"spec": {', b'"spec": {"a": ' + b'{"a":' * depth + b"1" + b"}" * depth + b", ", 1)


def _huge(text: bytes, random: Random) -> bytes:
    """3 MB in one annotation, one list, or keys without number."""
    one = b'"x": "' + b"x" * LARGE + b'", '
    many = b", ".join(b'"k%d": "v"' % number for number in range(LARGE // 16)) + b", "
    list_ = b'"x": [' + b", ".join([b'{"name": "c"}'] * (LARGE // 16)) + b"], "
    return text.replace(b'"spec": {', b'"spec": {' + random.choice((one, many, list_)), 1)


def _no_number(text: bytes, random: Random) -> bytes:
    word = random.choice((b"NaN", b"-Infinity", b"01", b"1e999999", b"0x1F", b"9" * 100_000))
    return text.replace(b'"spec": {', b'"spec": {"a": ' + word + b", ", 1)


def _other_encoding(text: bytes, random: Random) -> bytes:
    encoding = random.choice(("utf-16", "utf-32", "utf-8-sig"))
    return text.decode().encode(encoding)


TEXT_CHANGES: Final[dict[str, Callable[[bytes, Random], bytes]]] = {
    "cut": _cut,
    "flipped": _flipped,
    "noise": _noise,
    "duplicate keys": _twice,
    "abyss": _abyss,
    "deep object": _deep_object,
    "huge": _huge,
    "no number": _no_number,
    "other encoding": _other_encoding,
}
