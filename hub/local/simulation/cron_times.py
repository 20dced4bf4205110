"""When a CronJob is due: the times of a schedule, as robfig/cron counts them. Pure; time zones are the caller's."""

from datetime import datetime, timedelta
from typing import Final

from hub.local.apiserver.schema import cron_schedule

_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_LONGEST: Final = timedelta(days=5 * 366)
"""A schedule that is not due for so long never is: the 30th of February."""


def next_after(schedule: str, moment: datetime) -> datetime | None:
    """The first time after ``moment``, in its time zone; None where there is none. Raises ScheduleError."""
    if schedule.startswith("@every "):
        return moment + timedelta(seconds=max(1.0, _seconds(schedule.removeprefix("@every "))))
    cron_schedule.check(schedule)
    fields = _DESCRIPTORS.get(schedule, schedule).split()
    minutes, hours, days, months, weekdays = map(cron_schedule.values, fields, cron_schedule.FIELDS)
    # Where both days are restricted, either will do.
    either = not any(text.startswith(("*", "?")) for text in (fields[2], fields[4]))
    found = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
    while found - moment < _LONGEST:
        of_month, of_week = found.day in days, found.isoweekday() % 7 in weekdays
        if found.month not in months or not (of_month or of_week if either else of_month and of_week):
            found = found.replace(hour=0, minute=0) + timedelta(days=1)
        elif found.hour not in hours:
            found = found.replace(minute=0) + timedelta(hours=1)
        elif found.minute not in minutes:
            found += timedelta(minutes=1)
        else:
            return found
    return None


def _seconds(duration: str) -> float:
    total, number = 0.0, ""
    unit = ""
    for letter in [*duration, ""]:
        if letter.isdigit() or letter == "." or not letter:
            if unit:
                total, number, unit = total + float(number) * _SECONDS[unit], "", ""
            number += letter
        else:
            unit += letter
    return total
