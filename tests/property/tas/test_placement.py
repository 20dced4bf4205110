"""What must never happen to a placement, whatever the nodes and the request."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tas.small_topology import HOSTS, pods, room
from worker_agent.api.topology_encoding import Domain
from worker_agent.engine.tas import driver, topology_assignment
from worker_agent.engine.tas.ask import PodSetAsk
from worker_agent.engine.tas.driver import Situation
from worker_agent.engine.tas.flavor_room import FlavorRoom
from worker_agent.engine.tas.placer import Attempt
from worker_agent.engine.tas.rules import TopologyRules
from worker_agent.engine.tas.topology_assignment import TopologyAssignment

H = HOSTS[-1]
Host = tuple[int, int, int]
"""Block, rack, cpu."""

hosts = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=7)
levels = st.sampled_from(HOSTS)
counts = st.integers(1, 12)


def cluster(sizes: list[Host]) -> FlavorRoom:
    return room(" ".join(f"b{block}/r{rack}/n{i}={cpu}" for i, (block, rack, cpu) in enumerate(sizes)))


def find(where: FlavorRoom, *asks: PodSetAsk, **rules: bool) -> dict[str, TopologyAssignment | None]:
    found = driver.place_all(where, asks, Situation(), Attempt(TopologyRules(**rules)))
    return {name: outcome.assignment for name, outcome in found.items()}


def by_host(place: TopologyAssignment) -> dict[str, int]:
    return {domain.values[-1]: domain.pods for domain in place.domains}


def within(sizes: list[Host], place: TopologyAssignment) -> bool:
    return all(pods <= sizes[int(host[1:])][2] for host, pods in by_host(place).items())


def domain_of(sizes: list[Host], host: str, level: str) -> tuple[object, ...]:
    block, rack, _ = sizes[int(host[1:])]
    return (block, rack, host)[: HOSTS.index(level) + 1]


def capacities(sizes: list[Host], level: str) -> dict[tuple[object, ...], int]:
    total: dict[tuple[object, ...], int] = {}
    for i, (_, _, cpu) in enumerate(sizes):
        domain = domain_of(sizes, f"n{i}", level)
        total[domain] = total.get(domain, 0) + cpu
    return total


@given(hosts, levels, counts)
def test_required_is_found_exactly_where_a_domain_holds_all(sizes: list[Host], level: str, count: int) -> None:
    place = find(cluster(sizes), pods(count, required=level))["main"]
    assert (place is not None) == any(cpu >= count for cpu in capacities(sizes, level).values())
    if place is not None:
        assert place.pods == count
        assert within(sizes, place)
        assert len({domain_of(sizes, host, level) for host in by_host(place)}) == 1


@given(hosts, levels, counts, st.booleans())
def test_preferred_is_at_the_lowest_level_that_holds_all(
    sizes: list[Host], level: str, count: int, balanced: bool
) -> None:
    place = find(cluster(sizes), pods(count, preferred=level), balanced=balanced)["main"]
    assert (place is not None) == (sum(cpu for _, _, cpu in sizes) >= count)
    if place is None:
        return
    assert place.pods == count
    assert within(sizes, place)
    for upwards in reversed(HOSTS[: HOSTS.index(level) + 1]):
        if not balanced and any(cpu >= count for cpu in capacities(sizes, upwards).values()):
            assert len({domain_of(sizes, host, upwards) for host in by_host(place)}) == 1
            return


@given(hosts, counts, st.booleans())
def test_unconstrained_takes_what_there_is(sizes: list[Host], count: int, mixed: bool) -> None:
    place = find(cluster(sizes), pods(count, unconstrained=True), mixed_profile=mixed)["main"]
    assert (place is not None) == (sum(cpu for _, _, cpu in sizes) >= count)
    if place is not None:
        assert place.pods == count
        assert within(sizes, place)


@given(hosts, st.sampled_from(["block", "rack"]), st.integers(1, 4), st.sampled_from(["rack", H]), st.integers(1, 4))
def test_slices_stay_whole(sizes: list[Host], level: str, size: int, slice_level: str, slices: int) -> None:
    place = find(cluster(sizes), pods(slices * size, required=level, slices=f"{slice_level}*{size}"))["main"]
    if place is None:
        return
    assert place.pods == slices * size
    assert within(sizes, place)
    placed: dict[tuple[object, ...], int] = {}
    for host, number in by_host(place).items():
        domain = domain_of(sizes, host, slice_level)
        placed[domain] = placed.get(domain, 0) + number
    assert all(number % size == 0 for number in placed.values())


@given(hosts, st.sampled_from(["required", "preferred"]), levels, st.integers(1, 3), st.integers(1, 8))
def test_leader_and_workers_fit_together(sizes: list[Host], kind: str, level: str, cpu: int, count: int) -> None:
    asks = [pods(1, "l", cpu=cpu, group="g", **{kind: level}), pods(count, "w", group="g", **{kind: level})]
    found = find(cluster(sizes), *asks)
    leader, workers = found["l"], found["w"]
    if leader is None or workers is None:
        return
    assert (leader.pods, workers.pods) == (1, count)
    used = by_host(workers)
    for host in by_host(leader):
        used[host] = used.get(host, 0) + cpu
    assert all(number <= sizes[int(host[1:])][2] for host, number in used.items())
    if kind == "required":
        assert len({domain_of(sizes, host, level) for host in used}) == 1


@given(hosts, counts, counts)
def test_pod_sets_together_stay_within_the_room(sizes: list[Host], first: int, second: int) -> None:
    found = find(cluster(sizes), pods(first, "a", preferred="rack"), pods(second, "b", unconstrained=True))
    used: dict[str, int] = {}
    for place in found.values():
        for host, number in by_host(place).items() if place is not None else ():
            used[host] = used.get(host, 0) + number
    assert all(number <= sizes[int(host[1:])][2] for host, number in used.items())


names = st.text("ab-", min_size=1, max_size=8)
domains = st.lists(st.tuples(names, st.integers(1, 3)), max_size=12, unique_by=lambda domain: domain[0])


@given(domains, st.booleans())
def test_decoding_gives_back_what_was_encoded(found: list[tuple[str, int]], by_prefix: bool) -> None:
    place = TopologyAssignment((H,), tuple(Domain((name,), count) for name, count in found))
    assert topology_assignment.decode(place.document(by_prefix)) == place


@given(hosts, st.integers(1, 4))
def test_a_required_rack_is_the_tightest(sizes: list[Host], count: int) -> None:
    place = find(cluster(sizes), pods(count, required="rack"))["main"]
    if place is None:
        return
    fitting = [cpu for cpu in capacities(sizes, "rack").values() if cpu >= count]
    chosen = domain_of(sizes, next(iter(by_host(place))), "rack")
    assert capacities(sizes, "rack")[chosen] == min(fitting)


@given(hosts, st.integers(1, 6))
def test_slices_are_found_where_brute_force_finds_them(sizes: list[Host], slices: int) -> None:
    """Two pods a slice, on hosts of one block."""
    place = find(cluster(sizes), pods(2 * slices, required="block", slices=f"{H}*2"))["main"]
    blocks = {block for block, _, _ in sizes}
    possible = any(
        sum(sizes[i][2] // 2 for i in chosen) >= slices
        for block in blocks
        for size in range(1, len(sizes) + 1)
        for chosen in combinations([i for i, host in enumerate(sizes) if host[0] == block], size)
    )
    assert (place is not None) == possible
