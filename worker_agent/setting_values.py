"""The values settings are made of: durations, ports, addresses, names; and ``Stanza``, the base of every stanza.

Their checks speak to whoever wrote the settings: ``settings_source`` puts the setting's name and value before them.
"""

import ipaddress
from datetime import timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from worker_agent.api import durations, quantity


def _duration(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        raise ValueError("must be a duration such as 30s, 5m or 1h30m")
    return durations.parse(value)


def _not_negative(duration: timedelta) -> timedelta:
    if duration < timedelta(0):
        raise ValueError("must not be negative")
    return duration


def _positive(duration: timedelta) -> timedelta:
    if duration <= timedelta(0):
        raise ValueError("must be more than 0s")
    return duration


Duration = Annotated[timedelta, BeforeValidator(_duration)]
NonNegativeDuration = Annotated[Duration, AfterValidator(_not_negative)]
PositiveDuration = Annotated[Duration, AfterValidator(_positive)]
NonNegative = Annotated[int, Field(ge=0)]
Seconds = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""As many as 32 bits hold, as in Kueue."""
PortNumber = Annotated[int, Field(ge=1, le=65535)]


QualifiedName = Annotated[
    str,
    Field(max_length=253, pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"),
]
DnsLabel = Annotated[str, Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
DnsSubdomain = Annotated[
    str, Field(max_length=253, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
]


def _quantity(value: str | int) -> str | int:
    quantity.parse(value)
    return value


QuantityText = Annotated[str | int, AfterValidator(_quantity)]


def _external_framework(value: str) -> str:
    kind, version, *group = value.split(".")[:3] if value.count(".") > 1 else ("", "", "")
    if not (kind and version and group and all(value.split("."))):
        raise ValueError("must be format, 'Kind.version.group.com'")
    return value


ExternalKindName = Annotated[str, AfterValidator(_external_framework)]
LARGEST_PORT = 65535


def _address(value: str) -> str:
    _, separator, port = value.rpartition(":")
    if not separator or not port.isdecimal() or int(port) > LARGEST_PORT:
        raise ValueError("must be host:port or :port")
    return value


Address = Annotated[str, AfterValidator(_address)]
AddressOrOff = Annotated[str, AfterValidator(lambda value: value if value == "0" else _address(value))]


def _ip_address(value: str) -> str:
    try:
        return value and str(ipaddress.ip_address(value))
    except ValueError:
        raise ValueError("must be an IP address") from None


IpAddress = Annotated[str, AfterValidator(_ip_address)]
"""Empty is every address of the machine."""


class Stanza(BaseModel):
    """Base of every stanza: unknown fields are refused, values are fixed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)
