"""CustomResourceDefinitions: there, in the versions that the program asks for, accepted, and converted."""

from collections.abc import Iterator

from hub.app.doctor import finding
from hub.app.doctor.finding import Finding
from hub.app.doctor.snapshot import Role, Snapshot
from worker_agent.api import crds
from worker_agent.api.document import Document
from worker_agent.api.resource_type import CUSTOM_RESOURCE_DEFINITIONS

NAME = "definitions"
READS = (CUSTOM_RESOURCE_DEFINITIONS,)
_INSTALL = "kubectl apply --server-side -f manifests/crds"
_OF_THE_HUB = ("DispatchPolicy", "MultiKueueCluster", "MultiKueueConfig")


def check(snapshot: Snapshot) -> Iterator[Finding]:
    for wanted in crds.documents():
        if snapshot.role is Role.AGENT and wanted["spec"]["names"]["kind"] in _OF_THE_HUB:
            continue
        name = wanted["metadata"]["name"]
        found = snapshot.find(CUSTOM_RESOURCE_DEFINITIONS, name)
        if found is None:
            yield finding.error(f"crd/{name}", "is not installed", _INSTALL)
        else:
            yield from _compared(found, wanted)


def _compared(found: Document, wanted: Document) -> Iterator[Finding]:
    about = f"crd/{found['metadata']['name']}"
    present = {each["name"]: each for each in found["spec"]["versions"]}
    for version in wanted["spec"]["versions"]:
        served = present.get(version["name"])
        if served is None or not served["served"]:
            yield finding.error(about, f"does not serve {version['name']}", _INSTALL)
    stored = next(each["name"] for each in wanted["spec"]["versions"] if each["storage"])
    conditions = {each["type"]: each for each in (found.get("status") or {}).get("conditions") or ()}
    for type_ in ("Established", "NamesAccepted"):
        if (condition := conditions.get(type_)) and condition["status"] != "True":
            remedy = "another definition may hold these names: kubectl get crd"
            yield finding.error(about, f"is not {type_}: {condition.get('message', '')}", remedy)
    old = [name for name in (found.get("status") or {}).get("storedVersions") or () if name not in present]
    if old:
        yield finding.warning(
            about, f"objects are stored as {', '.join(old)}, which is not defined any more", f"store them as {stored}"
        )
    yield from _conversion(about, found, wanted)


def _conversion(about: str, found: Document, wanted: Document) -> Iterator[Finding]:
    if "conversion" not in wanted["spec"]:
        return
    conversion = found["spec"].get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        yield finding.error(about, "converts nothing: objects of older versions are read wrong", _INSTALL)
    elif not conversion["webhook"]["clientConfig"].get("caBundle"):
        yield finding.error(
            about,
            "has a conversion webhook without a CA bundle: the API server cannot call it",
            "the program puts it in when it starts: see its log, and whether it may patch this definition",
        )
