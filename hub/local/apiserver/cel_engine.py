"""The CEL engine, loaded with the server: every CRD has rules."""

from typing import Any, Final

from worker_agent.api.cel_engine import engine

cel: Final[Any] = engine()
