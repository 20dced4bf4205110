"""How messages name the annotations of a pod template."""

from worker_agent.api.document import Path


def annotations_path(path: Path) -> str:
    """``spec.replicatedJobs[0].template.metadata.annotations`` of the template at ``path``."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return f"{text[1:]}.metadata.annotations"
