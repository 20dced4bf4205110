"""How messages name the annotations of a pod template."""

from worker_agent.api.job_kind import TemplateAt


def annotations_path(spot: TemplateAt) -> str:
    """``spec.replicatedJobs[0].template.spec.template.metadata.annotations`` of the template at ``spot``."""
    if spot.annotations_field:
        return spot.annotations_field
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in spot.path)
    return f"{text[1:]}.metadata.annotations"
