"""Whether an AdmissionCheck of the provisioning controller can work: its configuration, and its Active condition."""

from collections.abc import Mapping
from typing import Final

from worker_agent.api import names
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.meta import Key
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig
from worker_agent.api.resource_type import ADMISSION_CHECKS, PROVISIONING_REQUEST_CONFIGS, PROVISIONING_REQUESTS
from worker_agent.engine import check_parameters
from worker_agent.engine.check_parameters import BadReference
from worker_agent.engine.intents import ApplyStatus, SetCondition

BAD_PARAMETERS: Final = "BadParametersRef"
NOT_SERVED: Final = "ProvisioningRequestsNotServed"


def is_ours(check: AdmissionCheck) -> bool:
    return check.spec.controller_name == names.PROVISIONING_CONTROLLER


def config_name(check: AdmissionCheck) -> str:
    """The ProvisioningRequestConfig that the parameters name, whether or not there is one. Raises BadReference."""
    return check_parameters.config_name(check, PROVISIONING_REQUEST_CONFIGS)


def condition(
    check: AdmissionCheck, configs: Mapping[str, ProvisioningRequestConfig], *, served: bool = True
) -> SetCondition:
    """The Active condition. ``served``: whether the cluster knows ProvisioningRequests at all."""
    try:
        name = config_name(check)
        if name not in configs:
            raise check_parameters.not_found(name, PROVISIONING_REQUEST_CONFIGS)
    except BadReference as error:
        return SetCondition(names.ACTIVE, "False", BAD_PARAMETERS, str(error))
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
