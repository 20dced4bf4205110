"""Which object with settings an AdmissionCheck's parameters name; every controller of checks has a kind of its own."""

from dataclasses import dataclass

from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.resource_type import ResourceType


@dataclass(frozen=True, slots=True)
class BadReference(Exception):
    """The check's parameters lead to no such object; ``message`` says why, in the words users search for."""

    message: str

    def __str__(self) -> str:
        return self.message


def config_name(check: AdmissionCheck, expected: ResourceType) -> str:
    """The name of the object of the expected kind that the parameters name, whether or not there is one.

    Raises BadReference for missing parameters, an empty name, a foreign group or a foreign kind, tested in this order.
    """
    parameters = check.spec.parameters
    if parameters is None:
        raise BadReference("missing parameters reference")
    if not parameters.name:
        raise BadReference("empty name: bad parameters reference")
    if parameters.api_group != expected.group:
        wrong = f'wrong group "{parameters.api_group}", expecting "{expected.group}"'
        raise BadReference(f"{wrong}: bad parameters reference")
    if parameters.kind != expected.kind:
        raise BadReference(f'wrong kind "{parameters.kind}", expecting "{expected.kind}": bad parameters reference')
    return parameters.name


def not_found(name: str, expected: ResourceType) -> BadReference:
    return BadReference(f'{expected.plural}.{expected.group} "{name}" not found')
