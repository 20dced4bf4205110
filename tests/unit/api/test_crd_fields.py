"""Both versions of our definitions say what Kueue's definitions say, except for the deviations named here."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from worker_agent.api import crds
from worker_agent.api.resource_type import KUEUE

REFERENCE = Path(__file__).parents[3].parent / "shared" / "reference" / "kueue-crds"

WHOLE: dict[str, tuple[Any, Any]] = {
    f"Workload {path} x-kubernetes-map-type": (None, "atomic")
    for path in ("spec.podSets[].template", "status.admission")
}
"""Each has one owner, who writes it whole: the server notes one field of it and not one per leaf, for which every write
of a Workload pays."""

DEVIATIONS = WHOLE | {
    "MultiKueueConfig spec.clusters maxItems": (20, 64),
    "Workload status.nominatedClusterNames maxItems": (20, 64),
    "MultiKueueCluster spec.clusterSource.agent type": (None, "object"),
    "MultiKueueCluster spec.clusterSource.agent required": (None, {"name"}),
    "MultiKueueCluster spec.clusterSource.agent.name type": (None, "string"),
    "MultiKueueCluster spec.clusterSource.agent.name minLength": (None, 1),
    "MultiKueueCluster spec.clusterSource.agent.name maxLength": (None, 256),
    "MultiKueueCluster spec.clusterSource rules": (
        {
            "exactly one of the fields in [kubeConfig clusterProfileRef] must be set": (
                "[has(self.kubeConfig),has(self.clusterProfileRef)].filter(x,x==true).size() == 1"
            )
        },
        {
            "exactly one of the fields in [kubeConfig clusterProfileRef agent] must be set": (
                "[has(self.kubeConfig),has(self.clusterProfileRef),has(self.agent)].filter(x,x==true).size() == 1"
            )
        },
    ),
}
"""What differs -> (Kueue's, ours): more workers than 20, and the agent as a way to reach one (DESIGN section 4)."""

OLD_DEVIATIONS = WHOLE | {
    "MultiKueueConfig spec.clusters maxItems": (20, 64),
    "Workload status.nominatedClusterNames maxItems": (20, 64),
}


def reference() -> dict[str, dict[str, Any]]:
    if not REFERENCE.is_dir():
        pytest.skip(f"the reference definitions are not here: {REFERENCE}")
    loaded = (yaml.load(path.read_text(), Loader=yaml.CSafeLoader) for path in sorted(REFERENCE.glob("*.yaml")))
    return {crd["spec"]["names"]["kind"]: crd for crd in loaded}


def ours() -> dict[str, dict[str, Any]]:
    return {crd["spec"]["names"]["kind"]: crd for crd in crds.documents() if crd["spec"]["group"] == KUEUE}


def version(crd: dict[str, Any], name: str) -> dict[str, Any]:
    return next(v for v in crd["spec"]["versions"] if v["name"] == name)


def facts(schema: dict[str, Any], path: str = "") -> dict[str, Any]:
    """``path keyword`` -> value for everything a schema says but its words; rules by message."""
    said: dict[str, Any] = {}
    for keyword, value in schema.items():
        match keyword:
            case "description":
                continue
            case "properties":
                for name, child in value.items():
                    said |= facts(child, f"{path}.{name}" if path else name)
            case "items":
                said |= facts(value, f"{path}[]")
            case "additionalProperties":
                said |= facts(value, f"{path}{{}}")
            case "required" | "enum":
                said[f"{path} {keyword}"] = set(value)
            case "x-kubernetes-validations":
                said[f"{path} rules"] = {rule["message"]: rule["rule"] for rule in value}
            case _:
                said[f"{path} {keyword}"] = value
    return said


def all_facts(kinds: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    found = {
        f"{kind} {fact}": value
        for kind, crd in kinds.items()
        for fact, value in facts(version(crd, name)["schema"]["openAPIV3Schema"]).items()
    }
    # In another order, for the sake of servers; test_workload_rules holds that they say the same.
    found["Workload  rules"] = list(found["Workload  rules"])
    return found


@pytest.mark.parametrize(("name", "deviations"), [("v1beta1", OLD_DEVIATIONS), ("v1beta2", DEVIATIONS)])
def test_every_field_is_the_same_but_for_the_named_deviations(name: str, deviations: dict[str, Any]) -> None:
    theirs, mine = all_facts(reference(), name), all_facts(ours(), name)
    differing = {
        fact: (theirs.get(fact), mine.get(fact))
        for fact in sorted({*theirs, *mine})
        if theirs.get(fact) != mine.get(fact)
    }
    assert differing == deviations


def presentation(crd: dict[str, Any], name: str) -> dict[str, Any]:
    spec, served = crd["spec"], version(crd, name)
    columns = [
        (column["name"], column["type"], column["jsonPath"], column.get("priority", 0))
        for column in served.get("additionalPrinterColumns") or ()
    ]
    return {
        "names": {**spec["names"], "shortNames": set(spec["names"]["shortNames"])},
        "scope": spec["scope"],
        "columns": columns,
        "status": "status" in (served.get("subresources") or {}),
        "selectable": served.get("selectableFields") or [],
        "served": (served["served"], served["storage"]),
        "deprecated": (served.get("deprecated", False), served.get("deprecationWarning", "")),
    }


@pytest.mark.parametrize("name", ["v1beta1", "v1beta2"])
def test_names_columns_and_subresources_are_the_same(name: str) -> None:
    theirs = {kind: presentation(crd, name) for kind, crd in reference().items()}
    assert {kind: presentation(crd, name) for kind, crd in ours().items()} == theirs


def test_kinds_whose_objects_differ_are_converted_by_the_webhook() -> None:
    converted = {kind for kind, crd in ours().items() if (crd["spec"].get("conversion") or {}).get("webhook")}
    assert converted == {"ClusterQueue", "Cohort", "LocalQueue", "MultiKueueCluster", "Workload"}


def test_words_are_our_own() -> None:
    def words(schema: dict[str, Any]) -> set[str]:
        said = {schema["description"]} if isinstance(schema.get("description"), str) else set()
        for child in [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]:
            said |= words(child) if isinstance(child, dict) else set()
        return said

    def everything(kinds: dict[str, dict[str, Any]]) -> set[str]:
        versions = [version for crd in kinds.values() for version in crd["spec"]["versions"]]
        return {word for version in versions for word in words(version["schema"]["openAPIV3Schema"])}

    assert not everything(ours()) & everything(reference())
