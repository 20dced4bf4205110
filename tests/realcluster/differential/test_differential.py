"""Every script on both servers: no difference outside the written list, and nothing on the list that is not there."""

import time
from collections.abc import Iterator

import pytest

from tests.cluster_choice import EMBEDDED, NEWEST
from tests.realcluster import table
from tests.realcluster.differential import comparison, generated, script
from tests.realcluster.differential.comparison import Difference, Known

SCRIPTS = [*script.load_all(), *generated.scripts(240)]


@pytest.fixture(scope="module")
def known() -> list[Known]:
    return comparison.known()


@pytest.fixture(scope="module")
def tally() -> Iterator[dict[str, object]]:
    """What came of all scripts: how many were the same, which entries of the list were needed."""
    found: dict[str, object] = {"same": 0, "played": 0, "used": set()}
    started = time.monotonic()
    yield found
    took = time.monotonic() - started
    told = f"{found['same']} of {found['played']} scripts the same but for the list in {took:.0f} s"
    for sort in (EMBEDDED, NEWEST):
        table.put("differential", sort, told)


@pytest.mark.parametrize(("number", "script"), list(enumerate(SCRIPTS)), ids=[script.name for script in SCRIPTS])
def test_same_answers(number, script, players, known, tally):
    found = comparison.differences(script, *players, f"s-{number}")
    tally["played"] += 1
    if new := comparison.unlisted(found, known):
        found = comparison.differences(script, *players, f"s-{number}-again")
        if not comparison.unlisted(found, known):
            table.flaky(NEWEST, f"differential: {script.name}", told(new))
    tally["used"] |= {entry for entry in known for one in found if entry.covers(one)}
    new = comparison.unlisted(found, known)
    assert not new, told(new)
    tally["same"] += 1


def told(found: list[Difference]) -> str:
    return "\n".join(map(str, ["", *found]))


def test_every_known_difference_still_shows(known, tally):
    if tally["played"] < len(SCRIPTS):
        return  # a part of the scripts was asked for
    stale = [entry for entry in known if not entry.sometimes and entry not in tally["used"]]
    assert not stale, f"no longer different, take off {comparison.KNOWN.name}: {stale}"


def test_there_are_at_least_four_hundred_scripts():
    assert len({script.name for script in SCRIPTS}) == len(SCRIPTS) >= 400
