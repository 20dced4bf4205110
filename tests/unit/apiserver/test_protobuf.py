"""Bodies here are what kubectl 1.37 sent for ``create`` commands, shortened, or made by hand with a tiny encoder."""

import pytest

from hub.local.apiserver import protobuf
from tests.unit.apiserver.world import CONFIG_MAPS, World


def field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    return b"k8s\x00" + field(1, field(1, api_version) + field(2, kind)) + field(2, raw)


def test_config_map() -> None:
    metadata = field(1, "cm") + field(3, "") + field(8, b"")
    raw = field(1, metadata) + field(2, field(1, "k") + field(2, "v"))
    document = protobuf.read(envelope("v1", "ConfigMap", raw))
    assert document == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"}, "data": {"k": "v"}}


def test_pointer_to_zero_is_kept_and_plain_zero_dropped() -> None:
    spec = field(1, 0) + field(10, 0)
    document = protobuf.read(envelope("batch/v1", "Job", field(2, spec)))
    assert document["spec"] == {"parallelism": 0, "suspend": False}


def test_quantities_times_and_negative_numbers() -> None:
    quantity = field(1, "2Gi")
    hard = field(1, "memory") + field(2, quantity)
    document = protobuf.read(envelope("v1", "ResourceQuota", field(2, field(1, hard))))
    assert document["spec"]["hard"] == {"memory": "2Gi"}
    renewed = field(1, 1_767_225_600) + field(2, 5_000)
    lease = protobuf.read(envelope("coordination.k8s.io/v1", "Lease", field(2, field(4, renewed))))
    assert lease["spec"]["renewTime"] == "2026-01-01T00:00:00.000005Z"
    priority = protobuf.read(envelope("scheduling.k8s.io/v1", "PriorityClass", field(2, -5)))
    assert priority["value"] == -5


def test_inlined_messages_have_no_name_of_their_own() -> None:
    get = field(2, field(1, "/healthz") + field(2, field(1, 0) + field(2, 80)))
    probe = field(1, get)
    container = field(1, "c") + field(10, probe)
    document = protobuf.read(envelope("v1", "Pod", field(2, field(2, container))))
    assert document["spec"]["containers"][0]["livenessProbe"] == {"httpGet": {"path": "/healthz", "port": 80}}


def test_server_takes_it(world: World) -> None:
    raw = field(1, field(1, "cm"))
    body = envelope("v1", "ConfigMap", raw)
    assert world.post(CONFIG_MAPS, body, content_type=protobuf.MEDIA_TYPE).status == 201


@pytest.mark.parametrize(
    "body",
    [b"not protobuf", b"k8s\x00\xff", envelope("v1", "Unknown", b""), envelope("v1", "ConfigMap", b"\x0a\xff")],
)
def test_damaged_bodies_are_bad_requests(world: World, body: bytes) -> None:
    reply = world.post(CONFIG_MAPS, body, content_type=protobuf.MEDIA_TYPE)
    assert (reply.status, reply.document["reason"]) == (400, "BadRequest")
