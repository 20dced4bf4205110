"""Reading what a decision returned: the intents of one kind, the only one, what they write of the check."""

from hub.engine.intents import flat
from tests.unit.hub.groups import condition
from worker_agent.api import names
from worker_agent.engine.intents import ApplyStatus

ADMITTED = condition(names.ADMITTED)
EVICTED = condition(names.EVICTED, message="Preempted to accommodate another")


def of(kind, intents):
    return [intent for intent in flat(intents) if isinstance(intent, kind)]


def one(kind, intents):
    (found,) = of(kind, intents)
    return found


def check_of(intents):
    """State and message of the check that the intents write."""
    change = one(ApplyStatus, intents)
    entries = change.entries.get("admissionChecks") or change.fields["admissionChecks"]
    return entries[0]["state"], entries[0]["message"]
