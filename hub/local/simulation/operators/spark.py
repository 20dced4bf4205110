"""sparkoperator.k8s.io/v1beta2 SparkApplication: a driver pod, and its executors once it runs."""

from datetime import datetime
from typing import Final

from hub.local.simulation.operators.plan import Children, Kind, Plan, named, phase, pod, settled
from worker_agent.api.document import Document, get, put
from worker_agent.api.resource_type import PODS, SPARK_APPLICATIONS
from worker_agent.jobs.spark_application import ENDS, SparkApplication

KIND: Final = SparkApplication()
_ENDED: Final = ("Succeeded", "Failed")
_EXECUTOR_STATES: Final = {"Succeeded": "COMPLETED", "Failed": "FAILED", "Running": "RUNNING"}


def decide(application: Document, children: Children, now: datetime) -> Plan:
    pods = children[PODS]
    if get(application, "status.applicationState.state") in ENDS:
        return Plan()
    if KIND.is_suspended(application):
        status = {"applicationState": {"state": "SUSPENDED"}}
        return Plan(delete=settled({}, pods, PODS)[1], status=status if pods or application.get("status") else None)
    name = application["metadata"]["name"]
    driver_name = f"{name}-driver"
    driver = named(pods).get(driver_name)
    running = driver is not None and phase(driver) == "Running"
    wanted = {driver_name: _pod(application, 0, driver_name, "driver")}
    if running:
        executors = get(application, "spec.executor.instances", 0)
        names = [f"{name}-exec-{number}" for number in range(1, executors + 1)]
        wanted |= {each: _pod(application, 1, each, "executor") for each in names}
    missing, extra = settled(wanted, pods, PODS)
    # A driver on its way out is one of an earlier run, which a stop ended.
    ended = driver is not None and phase(driver) in _ENDED and not driver["metadata"].get("deletionTimestamp")
    if driver is None:
        state = "SUBMITTED"
    elif ended:
        state = "COMPLETED" if phase(driver) == "Succeeded" else "FAILED"
    else:
        state = "RUNNING" if running else "SUBMITTED"
    executors_told = {
        each["metadata"]["name"]: _EXECUTOR_STATES.get(phase(each), "PENDING")
        for each in pods
        if each["metadata"]["name"] != driver_name
    }
    message = "driver failed" if state == "FAILED" else ""
    told = {"state": state, "errorMessage": message} if message else {"state": state}
    status = {"applicationState": told, "driverInfo": {"podName": driver_name}, "executorState": executors_told}
    return Plan(create=missing, delete=extra, status=status)


def _pod(application: Document, role: int, name: str, label: str) -> Document:
    template = KIND.pod_template(application, KIND.templates(application)[role])
    image = get(application, f"spec.{label}.image") or get(application, "spec.image", "spark")
    first, *others = template["spec"]["containers"]
    template = put(template, ("spec", "containers"), [{"image": image, **first}, *others])
    labels = {"spark-role": label, "sparkoperator.k8s.io/app-name": application["metadata"]["name"]}
    return pod(application, name, template, labels, restartPolicy="Never")


OPERATOR: Final = Kind(SPARK_APPLICATIONS, (PODS,), decide)
