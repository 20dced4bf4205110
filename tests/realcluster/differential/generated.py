"""Random scripts: writes of every sort by several managers to the same few objects, valid and not.

The same number gives the same script for ever, so a difference can be looked at again by its name.
"""

import random
from collections.abc import Callable
from typing import Any

from tests.realcluster.differential.script import Script, step

STEPS = 8
NAMES = ("a", "b")
MANAGERS = ("one", "two", "three")

Fields = dict[str, Any]


def scripts(count: int) -> list[Script]:
    """``count`` scripts, taking turns between the kinds that have the richest rules for merging."""
    kinds = tuple(KINDS)
    return [_script(number, kinds[number % len(kinds)]) for number in range(count)]


def _script(number: int, plural: str) -> Script:
    choice = random.Random(f"{plural} {number}")
    steps = [_create(choice, plural, NAMES[0]), *(_step(choice, plural) for _ in range(STEPS))]
    return Script(f"generated: {plural} {number}", tuple(step(given) for given in steps))


def _step(choice: random.Random, plural: str) -> Fields:
    makers: tuple[tuple[int, Callable[[random.Random, str, str], Fields]], ...] = (
        (1, _create),
        (2, _put),
        (4, _merge),
        (2, _json),
        (5, _apply),
        (1, _delete),
        (2, _read),
        *(((3, _strategic),) if plural in BUILT_IN else ()),
        *(((2, _status),) if plural in STATUSES else ()),
    )
    (maker,) = choice.choices([maker for _, maker in makers], [weight for weight, _ in makers])
    name = choice.choices(NAMES, (4, 1))[0]
    return maker(choice, plural, name)


def _create(choice: random.Random, plural: str, name: str) -> Fields:
    made = {"metadata": {"name": name, **_metadata(choice)}, **KINDS[plural](choice, True)}
    return {"do": f"POST {plural}?{_query(choice)}", "body": made, "keep": {f"rv{name}": "metadata.resourceVersion"}}


def _put(choice: random.Random, plural: str, name: str) -> Fields:
    """Sometimes with the version the object had when it was created."""
    metadata = {"name": name, **_metadata(choice)}
    if choice.random() < 0.5:
        metadata["resourceVersion"] = f"{{rv{name}}}"
    return {
        "do": f"PUT {plural}/{name}?{_query(choice)}",
        "body": {"metadata": metadata, **KINDS[plural](choice, True)},
    }


def _merge(choice: random.Random, plural: str, name: str) -> Fields:
    return {"do": f"PATCH {plural}/{name}?{_query(choice)}", "type": "merge", "body": _change(choice, plural)}


def _strategic(choice: random.Random, plural: str, name: str) -> Fields:
    return {"do": f"PATCH {plural}/{name}?{_query(choice)}", "type": "strategic", "body": _change(choice, plural)}


def _json(choice: random.Random, plural: str, name: str) -> Fields:
    path, value = choice.choice(JSON_TARGETS[plural])
    body = [{"op": choice.choice(["add", "add", "replace", "remove", "test"]), "path": path, "value": value}]
    return {"do": f"PATCH {plural}/{name}?{_query(choice)}", "type": "json", "body": body}


def _apply(choice: random.Random, plural: str, name: str) -> Fields:
    force = "&force=true" if choice.random() < 0.3 else ""
    body = {"metadata": {"name": name, **_metadata(choice)}, **KINDS[plural](choice, choice.random() < 0.5)}
    return {"do": f"PATCH {plural}/{name}?{_query(choice)}{force}", "type": "apply", "body": body}


def _status(choice: random.Random, plural: str, name: str) -> Fields:
    body: Fields = {"status": STATUSES[plural](choice)}
    if choice.random() < 0.5:
        return {"do": f"PATCH {plural}/{name}/status?{_query(choice)}", "type": "merge", "body": body}
    body["metadata"] = {"name": name}
    return {"do": f"PATCH {plural}/{name}/status?{_query(choice)}&force=true", "type": "apply", "body": body}


def _delete(choice: random.Random, plural: str, name: str) -> Fields:
    """Dry, or held by a finalizer where there is one."""
    query = choice.choice(
        ["dryRun=All", "propagationPolicy=Background", "gracePeriodSeconds=0&propagationPolicy=Background"]
    )
    return {"do": f"DELETE {plural}/{name}?{query}"}


def _read(choice: random.Random, plural: str, name: str) -> Fields:
    if choice.random() < 0.5:
        return {"do": f"GET {plural}/{name}"}
    selector = choice.choice(["", "labelSelector=x", "labelSelector=x%3D1", "limit=1"])
    return {"do": f"GET {plural}?{selector}", "accept": choice.choice(["", "table", "metadatalist"])}


def _query(choice: random.Random) -> str:
    dry = "&dryRun=All" if choice.random() < 0.1 else ""
    strict = choice.choice(["", "", "&fieldValidation=Strict", "&fieldValidation=Warn"])
    return f"fieldManager={choice.choice(MANAGERS)}{dry}{strict}"


def _change(choice: random.Random, plural: str) -> Fields:
    """A partial object; some values null."""
    change: Fields = KINDS[plural](choice, False)
    if metadata := _metadata(choice):
        change["metadata"] = metadata
    target = change.get("spec") or change
    if target and choice.random() < 0.4:
        target[choice.choice(sorted(target))] = None
    return change


def _some(choice: random.Random, possible: Fields) -> Fields:
    """A few of the fields."""
    return {name: possible[name] for name in possible if choice.random() < 0.35}


def _metadata(choice: random.Random) -> Fields:
    return _some(
        choice,
        {
            "labels": {"x": choice.choice(["1", "2"]), choice.choice("yz"): "w"},
            "annotations": {"example.com/n": choice.choice(["1", "2"])},
            "finalizers": choice.choice([[], ["example.com/f"], ["example.com/f", "example.com/g"]]),
        },
    )


def _configmap(choice: random.Random, whole: bool) -> Fields:
    return _some(
        choice,
        {
            "data": {choice.choice("klm"): choice.choice(["v", "w"]), "k": choice.choice(["v", "w"])},
            "binaryData": {choice.choice("pq"): "aGVsbG8="},
            "nonsense": 1 if choice.random() < 0.2 else 2,
        },
    )


def _widget(choice: random.Random, whole: bool) -> Fields:
    parts = [
        {"name": name, **_some(choice, {"weight": choice.randint(1, 3), "mode": choice.choice("xy")})}
        for name in choice.sample("pqr", choice.randint(0, 3))
    ]
    spec = _some(
        choice,
        {
            "size": choice.choice([1, 2, 50, 0]) if choice.random() < 0.9 else "big",
            "color": choice.choice(["red", "green", "blue", "pink"]),
            "parts": parts,
            "tags": choice.sample(["s", "t", "u"], choice.randint(0, 3)),
            "plain": choice.choices(["s", "t", "u"], k=choice.randint(0, 3)),
            "labels": {choice.choice("kl"): choice.choice("vw")},
            "atomic": _some(choice, {"a": choice.choice("vw"), "b": choice.choice("vw")}),
            "free": {choice.choice("kl"): choice.choice([1, [1, {"a": 2}], {"deep": {"er": choice.randint(1, 2)}}])},
            "fixed": choice.choice(["x", "y"]) if choice.random() < 0.3 else "x",
            "low": choice.randint(1, 3),
            "high": choice.randint(2, 4),
            "amount": choice.choice([5, "5", "5Gi"]),
            "nonsense": choice.randint(1, 3),
        },
    )
    return {"spec": spec}


def _template(choice: random.Random, whole: bool) -> Fields:
    """A pod template; whole: with what is required."""
    containers = []
    for name in choice.sample(["c", "d", "e"], choice.randint(1, 2)):
        container = _some(
            choice,
            {
                "env": [{"name": key, "value": choice.choice("vw")} for key in choice.sample("AB", 1)],
                "ports": [{"containerPort": choice.choice([80, 81]), "protocol": "TCP"}],
                "args": choice.choices(["r", "s"], k=2),
                "resources": {"requests": {"cpu": choice.choice(["1", "1000m", "0.5"])}},
                "volumeMounts": [{"name": "v", "mountPath": choice.choice(["/v", "/w"])}],
            },
        )
        containers.append({"name": name, "image": choice.choice("ij"), **container})
    spec = _some(
        choice,
        {
            "nodeSelector": {choice.choice("mn"): choice.choice("vw")},
            "tolerations": [{"key": choice.choice("st"), "operator": "Exists"}],
            "priority": 5,
        },
    )
    volumes = [{"name": "v", "emptyDir": {}}]
    metadata = {"labels": {"app": "x", **_some(choice, {"more": choice.choice("vw")})}}
    if whole or choice.random() < 0.7:
        spec["containers"] = containers
        spec["volumes"] = volumes
    return {"metadata": metadata, "spec": spec}


def _deployment(choice: random.Random, whole: bool) -> Fields:
    spec = _some(
        choice,
        {
            "replicas": choice.choice([0, 1, 3, -1]),
            "strategy": choice.choice([{"type": "Recreate"}, {"rollingUpdate": {"maxSurge": "50%"}}]),
            "minReadySeconds": choice.randint(0, 3),
            "paused": choice.random() < 0.5,
        },
    )
    if whole or choice.random() < 0.6:
        spec["template"] = _template(choice, whole)
    if whole:
        spec["selector"] = {"matchLabels": {"app": "x"}}
    return {"spec": spec}


def _job(choice: random.Random, whole: bool) -> Fields:
    spec = _some(
        choice,
        {
            "parallelism": choice.choice([0, 1, 3, -1]),
            "completions": choice.choice([1, 3]),
            "backoffLimit": choice.randint(0, 3),
            "suspend": choice.random() < 0.7,
            "activeDeadlineSeconds": choice.choice([0, 60, -1]),
            "completionMode": choice.choice(["Indexed", "NonIndexed"]),
            "managedBy": choice.choice(["kueue.x-k8s.io/multikueue", "kubernetes.io/job-controller"]),
        },
    )
    if whole or choice.random() < 0.5:
        template = _template(choice, whole)
        if whole or choice.random() < 0.5:
            template["spec"]["restartPolicy"] = choice.choice(["Never", "OnFailure"])
        spec["template"] = template
    return {"spec": spec}


def _widget_status(choice: random.Random) -> Fields:
    conditions = [
        {"type": kind, "status": choice.choice(["True", "False"]), **_some(choice, {"reason": choice.choice("rs")})}
        for kind in choice.sample("AB", choice.randint(0, 2))
    ]
    possible = {"phase": choice.choice("pq"), "conditions": conditions, "replicas": choice.choice([1, 2, "x"])}
    return _some(choice, possible)


def _job_status(choice: random.Random) -> Fields:
    return _some(
        choice, {"active": choice.randint(0, 2), "ready": choice.randint(0, 2), "failed": choice.choice([0, -1])}
    )


KINDS: dict[str, Callable[[random.Random, bool], Fields]] = {
    "configmaps": _configmap,
    "widgets": _widget,
    "deployments": _deployment,
    "jobs": _job,
}
BUILT_IN = ("configmaps", "deployments", "jobs")
STATUSES: dict[str, Callable[[random.Random], Fields]] = {"widgets": _widget_status, "jobs": _job_status}
JSON_TARGETS: dict[str, list[tuple[str, Any]]] = {
    "configmaps": [("/data/k", "x"), ("/data", {"n": "o"}), ("/metadata/labels/x", "3"), ("/metadata/labels", {})],
    "widgets": [
        ("/spec/size", 5),
        ("/spec/parts/0", {"name": "s"}),
        ("/spec/tags/-", "z"),
        ("/spec/free/k", 7),
        ("/metadata/labels", {"x": "3"}),
    ],
    "deployments": [
        ("/spec/replicas", 2),
        ("/spec/template/spec/containers/0/env", [{"name": "C", "value": "x"}]),
        ("/spec/template/metadata/labels/more", "z"),
        ("/spec/template/spec/volumes", []),
    ],
    "jobs": [
        ("/spec/suspend", False),
        ("/spec/parallelism", 2),
        ("/spec/template/spec/nodeSelector", {"o": "p"}),
        ("/spec/backoffLimit", 9),
    ],
}
