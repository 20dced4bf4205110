"""Webhook rules of jobs: defaults at creation, what may be created, what may change (spec/jobs sections 3, 8, 9).

Read in this order: ``surroundings`` (what a rule may look at), ``defaulting``, ``creation``, ``update``; then
``topology``, whose rules the two share, and ``own_rules``: the rules that one kind alone has.
"""

from worker_agent.validation.jobs.refusal import JobRefused
from worker_agent.validation.jobs.surroundings import JobSurroundings
from worker_agent.validation.jobs.webhook import default_job, validate_create, validate_update, warnings

__all__ = ["JobRefused", "JobSurroundings", "default_job", "validate_create", "validate_update", "warnings"]
