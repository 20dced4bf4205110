"""Defaulting and validation of our kinds beyond their schemas; webhooks are only the HTTP shell.

Reading order: ``field_error`` (a violation and its text), ``policy`` (which rules are on), ``registry`` (kind ->
rules), then one file per kind: ``cluster_queue`` and ``cohort`` over ``resource_groups``, ``resource_flavor``,
``workload`` with ``pod_sets`` and ``workload_update``. ``formats`` and ``metadata`` hold what Kubernetes itself checks.
``jobs`` holds the rules of job kinds. Every function returns all violations; nothing raises for bad input.
"""

from worker_agent.validation.field_error import ErrorType, FieldError, aggregate
from worker_agent.validation.policy import ValidationPolicy
from worker_agent.validation.registry import Validator, registry

__all__ = ["ErrorType", "FieldError", "ValidationPolicy", "Validator", "aggregate", "registry"]
