"""The schedule of a CronJob: five fields or a descriptor, read as robfig/cron's standard parser reads them.

Source: github.com/robfig/cron v3 parser.go, and its use in kubernetes pkg/apis/batch/validation.
"""

import re
from typing import Final

MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
Bounds = tuple[int, int, dict[str, int]]
"""The least and the greatest value of a field, and the values that have names."""
FIELDS: Final[tuple[Bounds, ...]] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(DAYS)}),
)
DESCRIPTORS: Final = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
DURATION: Final = re.compile(r"([0-9]*\.?[0-9]+(ns|us|µs|ms|s|m|h))+")


class ScheduleError(ValueError):
    """A schedule that cannot be read, in the words of the parser."""


def check(schedule: str) -> None:
    """Raise ScheduleError for what is no schedule."""
    if not schedule:
        raise ScheduleError("empty spec string")
    if schedule.startswith("@"):
        _check_descriptor(schedule)
        return
    fields = schedule.split()
    if len(fields) != len(FIELDS):
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    for text, bounds in zip(fields, FIELDS, strict=True):
        values(text, bounds)


def _check_descriptor(text: str) -> None:
    if text in DESCRIPTORS:
        return
    if text.startswith("@every "):
        duration = text.removeprefix("@every ")
        if not DURATION.fullmatch(duration):
            raise ScheduleError(f'failed to parse duration {text}: time: invalid duration "{duration}"')
        return
    raise ScheduleError(f"unrecognized descriptor: {text}")


def values(text: str, bounds: Bounds) -> frozenset[int]:
    """The values that one field allows. Raises ScheduleError."""
    return frozenset(value for part in text.split(",") if part for value in _range(part, bounds))


def _range(part: str, bounds: Bounds) -> range:
    low, high, names = bounds
    span, *steps = part.split("/")
    ends = span.split("-")
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {part}")
    if ends[0] in ("*", "?"):
        start, end = low, high
    else:
        start = _number(ends[0], names)
        end = _number(ends[1], names) if len(ends) == 2 else high if steps else start
        if len(ends) > 2:
            raise ScheduleError(f"too many hyphens: {part}")
    step = _number(steps[0], {}) if steps else 1
    if start < low:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({low}): {part}")
    if end > high:
        raise ScheduleError(f"end of range ({end}) above maximum ({high}): {part}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {part}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {part}")
    return range(start, end + 1, step)


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not re.fullmatch(r"[+-]?\d+", text):
        raise ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    if int(text) < 0:
        raise ScheduleError(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)
