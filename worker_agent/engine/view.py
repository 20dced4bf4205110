"""EngineView: placeholder until the cycle runs."""

from typing import Any


class EngineView: ...


def publish(state: Any, now: Any) -> EngineView:
    return EngineView()
