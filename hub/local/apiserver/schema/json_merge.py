"""JSON merge patch (RFC 7386)."""

from typing import Any


def merge(target: Any, patch: Any) -> Any:
    """``target`` with ``patch`` merged in; neither is changed, the result shares what stayed.

    A null deletes, a map merges, anything else replaces.
    """
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def difference(original: dict[str, Any], modified: dict[str, Any]) -> dict[str, Any]:
    """The merge patch that turns ``original`` into ``modified``, which must hold no null inside its maps."""
    patch: dict[str, Any] = {key: None for key in original if key not in modified}
    for key, value in modified.items():
        before = original.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            below = difference(before, value)
            if below:
                patch[key] = below
        elif key not in original or value != before or type(value) is not type(before):
            patch[key] = value
    return patch
