"""Whatever was secret in a federation's life stands in none of its logs, with every program at level debug.

Looked for: enrolment tokens, bearer tokens, client keys, the keys of every certificate, kubeconfigs with what they
hold, good and refused ones, each in all the forms of ``secret_search``. The logs of the control planes are read too.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hub.local.federation import Federation
from tests import secret_search
from tests.integration.local.both_sources.test_dialling_agent import invite, join, runs_a_job
from tests.local_federation import Kubectl

MARKS = {name: f"leaked-if-seen-{name}-0123456789abcdef" for name in ("token", "password", "odd", "file", "plugin")}

BAD_KUBECONFIGS = {
    "exec": {"exec": {"command": MARKS["plugin"], "env": [{"name": "X", "value": MARKS["token"]}]}},
    "basic": {"username": "u", "password": MARKS["password"]},
    "unreachable": {"token": MARKS["token"]},
    "file": {"tokenFile": f"/run/{MARKS['file']}"},
}
REFUSALS = {
    "exec": ("InsecureKubeConfig", "load client config failed: exec plugins are not allowed"),
    "basic": ("InsecureKubeConfig", "load client config failed: basic auth is not allowed"),
    "file": ("InsecureKubeConfig", "load client config failed: tokenFile is not allowed"),
    "insecure": (
        "InsecureKubeConfig",
        "load client config failed: insecure TLS verification is not allowed for cluster w",
    ),
    "garbage": ("InsecureKubeConfig", "load client config failed: failed to parse kubeconfig(apiconfig)"),
    "path": ("BadKubeConfig", "load client config failed: kubeconfig path is not under the allowed prefix"),
    "unreachable": ("ClientConnectionFailed", ""),
}


@pytest.fixture(scope="module", autouse=True)
def bad_workers(federation: Federation) -> None:
    """Beside the two good ones, one of each sort that is refused."""
    add_bad_workers(Kubectl(federation, "manager"))


def kubeconfig(user: dict, **cluster: object) -> str:
    named = {"name": "w", "cluster": {"server": "https://127.0.0.1:9", **cluster}}
    context = {"name": "w", "context": {"cluster": "w", "user": "w"}}
    body = {"clusters": [named], "users": [{"name": "w", "user": user}], "contexts": [context], "current-context": "w"}
    return json.dumps({"apiVersion": "v1", "kind": "Config", **body})


def add_bad_workers(manager: Kubectl) -> None:
    contents = {name: kubeconfig(user) for name, user in BAD_KUBECONFIGS.items()}
    contents["insecure"] = kubeconfig({"token": MARKS["token"]}, **{"insecure-skip-tls-verify": True})
    contents["garbage"] = f'{{"users": [{{token: "{MARKS["odd"]}": : ['
    documents: list[dict] = []
    for name, content in contents.items():
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"bad-{name}", "namespace": "kueue-system"},
        }
        documents += [secret | {"stringData": {"kubeconfig": content}}, worker(name, f"bad-{name}", "Secret")]
    documents.append(worker("path", f"/etc/{MARKS['file']}/../passwd", "Path"))
    together = {"apiVersion": "v1", "kind": "List", "items": documents}
    manager("create", "--validate=false", "-f", "-", stdin=json.dumps(together))


def worker(name: str, location: str, kind: str) -> dict:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "MultiKueueCluster",
        "metadata": {"name": f"bad-{name}"},
        "spec": {"clusterSource": {"kubeConfig": {"location": location, "locationType": kind}}},
    }


def secrets_of(federation: Federation) -> Iterator[str]:
    """Everything that only its owner may know, from the clusters and from the files beside them."""
    for cluster in federation.spec.clusters:
        listed = json.loads(Kubectl(federation, cluster.name)("get", "secrets", "-A", "-o", "json"))
        yield from secret_search.values(listed["items"])
    for path in federation.layout.root.rglob("*"):
        if path.suffix == ".key":
            yield path.read_text()
        elif path.name.endswith("kubeconfig"):
            yield from credentials(path)


def credentials(path: Path) -> Iterator[str]:
    for user in json.loads(path.read_text())["users"] if path.read_text().startswith("{") else ():
        yield from (value for key, value in user["user"].items() if key in ("token", "client-key-data"))


def logs_of(federation: Federation) -> dict[str, str]:
    paths = [*federation.layout.logs.iterdir(), *federation.layout.root.rglob("clusters/*/*.log")]
    return {path.name: path.read_text(errors="replace") for path in paths}


def test_no_secret_of_a_whole_run_is_in_any_log(federation: Federation) -> None:
    manager = Kubectl(federation, "manager")
    invitation = invite(federation)
    join(federation, invitation, "--replace")
    runs_a_job(federation)
    for name in REFUSALS:
        manager.wait(f"multikueuecluster/bad-{name}", "condition=Active=false")
    searched = {piece for secret in secrets_of(federation) for piece in secret_search.pieces(secret)}
    searched |= {invitation["token"], invitation["token"].partition(".")[2], *MARKS.values()} - {MARKS["file"]}
    assert len(searched) > 30
    logs = logs_of(federation)
    assert len(logs) >= 6
    assert any("DEBUG" in log or '"debug"' in log for log in logs.values())
    assert secret_search.seen(searched, logs) == {}


@pytest.mark.parametrize("name", list(REFUSALS))
def test_bad_credentials_are_refused_as_specified(federation: Federation, name: str) -> None:
    Kubectl(federation, "manager").wait(f"multikueuecluster/bad-{name}", "condition=Active=false")
    path = "jsonpath={.status.conditions[?(@.type=='Active')]}"
    condition = json.loads(Kubectl(federation, "manager")("get", f"multikueuecluster/bad-{name}", "-o", path))
    reason, message = REFUSALS[name]
    assert condition["reason"] == reason
    assert condition["message"].startswith(message)
