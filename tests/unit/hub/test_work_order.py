"""Orders to a desk: none is lost because another one cannot be carried out."""

import pytest

from hub.engine.evaluation import Outlook
from hub.engine.work_order import Assume, Desk, Observe
from tests.unit.hub import knowledge
from worker_agent.api.timestamps import parse
from worker_agent.engine.policy import DEFAULT

NOW = parse("2026-01-31T12:00:00Z")


def test_what_comes_after_a_bad_order_is_carried_out():
    desk = Desk(DEFAULT)
    events = [Observe(event) for event in knowledge.worker("a", cpu=4)]
    with pytest.raises(ValueError, match="truncated"):
        desk.carry_out([*events[:2], Assume("a", "ns", "w", b"{", b"{"), *events[2:]], NOW)
    ((found,),) = desk.answer([knowledge.request("a")], NOW)
    assert found.outlook == Outlook.FITS
