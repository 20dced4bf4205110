"""Random multi-cycle scenarios with the reference engine's outcomes (fuzz/README): tells the first differing cycle.

They are played by what ``fedhub-agent replay`` plays them with.
"""

from tests.conformance.case import Document
from worker_agent.engine import story_trace
from worker_agent.engine.story_script import Script


def run(case: Document) -> list[str]:
    """Play the script; compare each cycle with the recorded one, in the order of the README, and stop at the first."""
    script = Script(case)
    trace = iter(case["trace"])
    for index, step in enumerate(case["steps"]):
        if step["op"] != "cycle":
            script.step(step)
            continue
        plan = script.world.cycle()
        found = story_trace.differences(next(trace), story_trace.entry(script.world.state, plan))
        if found:
            number = sum(1 for s in case["steps"][: index + 1] if s["op"] == "cycle")
            return [f"cycle {number} (step {index})", *found]
    return []


RUNNERS = {"f[0-9]-*": run}
