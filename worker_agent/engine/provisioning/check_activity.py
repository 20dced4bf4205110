"""Whether an AdmissionCheck of the provisioning controller can work: its configuration, and its Active condition."""

from collections.abc import Mapping
from typing import Final

from worker_agent.api import names
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.meta import Key
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig
from worker_agent.api.resource_type import ADMISSION_CHECKS, KUEUE, PROVISIONING_REQUEST_CONFIGS, PROVISIONING_REQUESTS
from worker_agent.engine.intents import ApplyStatus, SetCondition
from worker_agent.engine.provisioning.view import ProvisioningError

BAD_PARAMETERS: Final = "BadParametersRef"
NOT_SERVED: Final = "ProvisioningRequestsNotServed"
_CONFIG: Final = PROVISIONING_REQUEST_CONFIGS
_BAD: Final = "bad parameters reference"


class BadReference(ProvisioningError):
    """The check's parameters lead to no ProvisioningRequestConfig."""


def is_ours(check: AdmissionCheck) -> bool:
    return check.spec.controller_name == names.PROVISIONING_CONTROLLER


def config_name(check: AdmissionCheck) -> str:
    """The ProvisioningRequestConfig that the parameters name, whether or not there is one. Raises BadReference."""
    parameters = check.spec.parameters
    if parameters is None:
        raise BadReference("missing parameters reference")
    if not parameters.name:
        raise BadReference(f"empty name: {_BAD}")
    if parameters.api_group != KUEUE:
        raise BadReference(f'wrong group "{parameters.api_group}", expecting "{KUEUE}": {_BAD}')
    if parameters.kind != _CONFIG.kind:
        raise BadReference(f'wrong kind "{parameters.kind}", expecting "{_CONFIG.kind}": {_BAD}')
    return parameters.name


def condition(
    check: AdmissionCheck, configs: Mapping[str, ProvisioningRequestConfig], *, served: bool = True
) -> SetCondition:
    """The Active condition. ``served``: whether the cluster knows ProvisioningRequests at all."""
    try:
        name = config_name(check)
    except BadReference as error:
        return SetCondition(names.ACTIVE, "False", BAD_PARAMETERS, str(error))
    if name not in configs:
        missing = f'{_CONFIG.plural}.{_CONFIG.group} "{name}" not found'
        return SetCondition(names.ACTIVE, "False", BAD_PARAMETERS, missing)
    if not served:
        kind = f"{PROVISIONING_REQUESTS.plural}.{PROVISIONING_REQUESTS.group}"
        message = f"{kind} is not served by this cluster: install an autoscaler that answers ProvisioningRequests"
        return SetCondition(names.ACTIVE, "False", NOT_SERVED, message)
    return SetCondition(names.ACTIVE, "True", "Active", "The admission check is active")


def written(check: AdmissionCheck, wanted: SetCondition) -> list[ApplyStatus]:
    """The write of the condition, only where its status flips: another message alone stays unwritten."""
    for known in check.status.conditions or ():
        if known.type == wanted.type and known.status == wanted.status:
            return []
    return [
        ApplyStatus(
            resource=ADMISSION_CHECKS,
            key=Key("", check.metadata.name),
            field_manager=names.PROVISIONING_CONTROLLER,
            conditions=(wanted,),
            strict=False,
        )
    ]
