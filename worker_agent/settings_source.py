"""How a settings file becomes keyword arguments, and how a wrong setting is told to its user. No setting lives here."""

import os
import re
from datetime import timedelta
from pathlib import Path
from types import UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings
from pydantic_settings import SettingsError as UnreadableSource

from worker_agent.api import durations

S = TypeVar("S", bound=BaseSettings)

POD_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""Where a pod finds the name of its own namespace."""


class SettingsError(ValueError):
    """One or more settings are wrong; the text names each, its value and what is allowed."""


def camel(name: str) -> str:
    """``worker_lost_timeout`` -> ``workerLostTimeout``."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def load(settings_type: type[S], path: Path | None, feature_gates: str = "") -> S:
    """Settings from ``path`` (YAML; none: defaults) under the environment; ``feature_gates`` as on the command line.

    In a pod ``namespace`` is that of the pod unless it is told. Raises SettingsError, also for feature gates in both
    places.
    """
    values = from_yaml(path, settings_type) if path else {}
    if "namespace" in settings_type.model_fields and "namespace" not in values and POD_NAMESPACE.is_file():
        values["namespace"] = POD_NAMESPACE.read_text().strip()
    if feature_gates:
        if values.get("feature_gates"):
            raise SettingsError("feature gates for CLI and configuration cannot both specified")
        values["feature_gates"] = gates_from_text(feature_gates)
    try:
        return settings_type(**values)
    except ValidationError as error:
        raise SettingsError(explain(error, settings_type, path)) from None
    except UnreadableSource as error:
        raise SettingsError(_unreadable(error, settings_type)) from None


def _unreadable(error: UnreadableSource, model: type[BaseSettings]) -> str:
    """A whole stanza, list or map given in one variable is JSON."""
    found = re.search(r'field "(\w+)"', str(error))
    if found is None:
        return f"environment: {error}"
    variable = _variable(model, (found[1],))
    return f"environment {variable}: {camel(found[1])}: {_shown(os.environ.get(variable))}: must be JSON"


def gates_from_text(text: str) -> dict[str, str]:
    """``A=true,B=false`` as a mapping; values are checked with all other settings. Raises SettingsError."""
    gates: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals or not name:
            raise SettingsError(f"--feature-gates: {part!r}: must be name=true or name=false")
        gates[name] = value
    return gates


def from_yaml(path: Path, model: type[BaseModel]) -> dict[str, Any]:
    """The file's fields under the model's names. Raises SettingsError where it cannot be read as a YAML mapping."""
    try:
        document = yaml.safe_load(path.read_text())
    except OSError as error:
        raise SettingsError(
            f"configuration {path}: {error.strerror or error}; name a readable file with --config"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        problem = " ".join(str(error).split())
        raise SettingsError(f"configuration {path}: not YAML: {problem}") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise SettingsError(f"configuration {path}: must be a mapping of settings, found {type(document).__name__}")
    return _renamed(document, model)


def _renamed(values: dict[Any, Any], model: type[BaseModel]) -> dict[str, Any]:
    """Camel case fields under their Python names; an unknown one keeps its name, so that the model refuses it."""
    by_camel = {camel(name): name for name in model.model_fields}
    renamed: dict[str, Any] = {}
    for key, value in values.items():
        name = by_camel.get(str(key))
        if name is None:
            renamed[f"{key}"] = value
            continue
        renamed[name] = _renamed_value(value, stanza_of(model.model_fields[name].annotation))
    return renamed


def _renamed_value(value: Any, stanza: type[BaseModel] | None) -> Any:
    if stanza is None:
        return value
    if isinstance(value, list):
        return [_renamed_value(item, stanza) for item in value]
    return _renamed(value, stanza) if isinstance(value, dict) else value


def stanza_of(annotation: Any) -> type[BaseModel] | None:
    """The model inside ``annotation``: itself, optional, or the items of a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, UnionType, list):
        return next((found for found in map(stanza_of, get_args(annotation)) if found), None)
    return None


def explain(error: ValidationError, model: type[BaseSettings], path: Path | None) -> str:
    """One line for each wrong setting: where it stands, its value, what is allowed."""
    return "\n".join(_line(detail, model, path) for detail in error.errors(include_url=False))


def _line(detail: ErrorDetails, model: type[BaseSettings], path: Path | None) -> str:
    location = detail["loc"]
    name = re.sub(r"\.(\d+)", r"[\1]", ".".join(_display(part) for part in location)) or "settings"
    variable = _variable(model, location)
    where = f"environment {variable}" if variable in os.environ or path is None else f"configuration {path}"
    if detail["type"] == "extra_forbidden":
        known = ", ".join(sorted(camel(field) for field in _model_at(model, location[:-1]).model_fields))
        return f"{where}: {name}: unknown setting; known here: {known}"
    if detail["type"] == "missing":
        return f"{where}: {name}: required"
    if isinstance(detail["input"], dict) and detail["type"] == "value_error":
        return f"{where}: {name}: {_reason(detail)}"
    return f"{where}: {name}: {_shown(detail['input'])}: {_reason(detail)}"


def _display(part: int | str) -> str:
    return str(part) if isinstance(part, int) else camel(part)


def _variable(model: type[BaseSettings], location: tuple[int | str, ...]) -> str:
    prefix = model.model_config.get("env_prefix", "")
    return f"{prefix}{'__'.join(str(part) for part in location).upper()}"


def _model_at(model: type[BaseModel], location: tuple[int | str, ...]) -> type[BaseModel]:
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            model = stanza_of(model.model_fields[part].annotation) or model
    return model


def _reason(detail: ErrorDetails) -> str:
    if detail["type"] == "literal_error":
        return f"must be one of {detail['ctx']['expected']}".replace(" or ", ", ")
    if detail["type"] == "string_pattern_mismatch":
        return f"must match {detail['ctx']['pattern']}"
    message = detail["msg"].removeprefix("Value error, ")
    for bound, words in (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than")):
        limit = detail.get("ctx", {}).get(bound)
        if limit is not None:
            return f"must be {words} {limit}"
    return message.replace("Input should be", "must be", 1)


def _shown(value: Any) -> str:
    text = durations.text(value) if isinstance(value, timedelta) else repr(value)
    return text if len(text) <= 200 else text[:200] + "..."
