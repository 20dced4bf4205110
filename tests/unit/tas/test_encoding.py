"""The compact form of an assignment."""

from tests.unit.tas.small_topology import RACKS, H, assignment
from worker_agent.api.document import Document
from worker_agent.engine.tas import topology_assignment


def encoded(text: str, levels: tuple[str, ...] = (H,)) -> list[Document]:
    place = assignment(text, levels)
    document = place.document()
    assert topology_assignment.decode(document) == place
    slices: list[Document] = document["slices"]
    return slices


def hosts(individual: Document, counts: Document, number: int) -> Document:
    return {"domainCount": number, "podCounts": counts, "valuesPerLevel": [{"individual": individual}]}


def test_levels_are_shortened_one_by_one() -> None:
    assert encoded("b1/r1:4 b1/r2:2", RACKS) == [
        {
            "domainCount": 2,
            "podCounts": {"individual": [4, 2]},
            "valuesPerLevel": [{"universal": "b1"}, {"individual": {"prefix": "r", "roots": ["1", "2"]}}],
        }
    ]


def test_one_slice_where_two_would_be_longer() -> None:
    expected = hosts({"prefix": "x-pool-", "roots": ["a-1", "a-2", "b-1"]}, {"individual": [1, 1, 2]}, 3)
    assert encoded("x-pool-a-1:1 x-pool-a-2:1 x-pool-b-1:2") == [expected]


def test_an_overlap_shortens_the_prefix() -> None:
    assert encoded("ababa:1 aba:1") == [hosts({"suffix": "aba", "roots": ["ab", ""]}, {"universal": 1}, 2)]


def test_a_common_prefix() -> None:
    assert encoded("a-1:1 a-2:1") == [hosts({"prefix": "a-", "roots": ["1", "2"]}, {"universal": 1}, 2)]


def test_a_single_domain() -> None:
    assert encoded("n1:2") == [
        {"domainCount": 1, "podCounts": {"universal": 2}, "valuesPerLevel": [{"universal": "n1"}]}
    ]


def test_hosts_without_anything_in_common() -> None:
    names = ["pool-a-node-0", "pool-a-node-1", "pool-b-node-0", "pool-b-node-1", "solo"]
    text = " ".join(f"{name}:{count}" for name, count in zip(names, (1, 1, 1, 1, 3), strict=True))
    assert encoded(text) == [hosts({"roots": names}, {"individual": [1, 1, 1, 1, 3]}, 5)]


def test_pools_become_slices() -> None:
    pools = ("gke-cluster-name-long-prefix-pool-aaaaaaaa-node-0000", "zzz-other-pool-bbbbbbbbbbbbbbbbbbbb-node-0000")
    text = " ".join(f"{pool}{number}:1" for pool in pools for number in range(1, 5))
    roots = ["1", "2", "3", "4"]
    assert encoded(text) == [hosts({"prefix": pool, "roots": roots}, {"universal": 1}, 4) for pool in pools]


def test_without_pods_there_are_no_slices() -> None:
    assert encoded("") == []
