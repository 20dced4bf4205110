"""Credentials by a ClusterProfile: the gate, the providers, and what a profile may not ask for."""

import base64
import json

import msgspec
import pytest

from hub.clusters import credentials
from hub.clusters.cluster_profile import PluginProvider
from hub.clusters.credentials import CredentialError, CredentialSources
from worker_agent.api.multikueue import MultiKueueCluster
from worker_agent.kube.exec_plugin import ExecPlugin

PLUGIN = ExecPlugin("login", "client.authentication.k8s.io/v1", ("--quiet",))
PROVIDERS = {"cloud": PluginProvider("cloud", PLUGIN, tells_cluster=True)}
EAST = {
    "server": "https://east.example",
    "certificate-authority-data": base64.b64encode(b"CA").decode(),
    "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"clusterName": "east"}}],
}


def profile(cluster=None, *, name="cloud", field="accessProviders"):
    return {"metadata": {"name": "east"}, "status": {field: [{"name": name, "cluster": {**EAST, **(cluster or {})}}]}}


def loaded(found, *, enabled=True, providers=PROVIDERS):
    document = {"metadata": {"name": "w"}, "spec": {"clusterSource": {"clusterProfileRef": {"name": "east"}}}}
    sources = CredentialSources(
        "kueue-system",
        secret=lambda key: None,
        profile=lambda key: found if str(key) == "kueue-system/east" else None,
        profiles_enabled=enabled,
        access_providers=providers,
    )
    return credentials.load(msgspec.convert(document, MultiKueueCluster), sources).settings


def refusal(found, **how):
    with pytest.raises(CredentialError) as caught:
        loaded(found, **how)
    return caught.value.reason, caught.value.message


@pytest.mark.parametrize("field", ["accessProviders", "credentialProviders"])
def test_the_profile_says_where_and_the_settings_say_how(field):
    settings = loaded(profile(field=field))
    assert (settings.host, settings.certificate_authority) == ("https://east.example", b"CA")
    assert (settings.exec_plugin.command, settings.exec_plugin.args) == ("login", ("--quiet",))
    told = json.loads(settings.exec_plugin.cluster)
    assert told["config"] == {"clusterName": "east"}
    assert told["server"] == "https://east.example"


def test_a_plugin_that_does_not_ask_is_told_of_no_cluster():
    assert loaded(profile(), providers={"cloud": PluginProvider("cloud", PLUGIN)}).exec_plugin.cluster == ""


def test_the_same_profile_is_the_same_credential():
    assert loaded(profile()) == loaded(profile())
    assert loaded(profile()) != loaded(profile({"server": "https://west.example"}))


@pytest.mark.parametrize(
    ("found", "how", "reason", "message"),
    {
        "gate off": (
            profile(),
            {"enabled": False},
            "MultiKueueClusterProfileFeatureDisabled",
            "MultiKueueClusterProfile feature gate is disabled",
        ),
        "no profile": (None, {}, "BadClusterProfile", 'clusterprofiles.multicluster.x-k8s.io "east" not found'),
        "no providers": (profile(), {"providers": {}}, "BadClusterProfile", "no access provider configured"),
        "other provider": (
            profile(name="other"),
            {},
            "BadClusterProfile",
            'no access provider of cluster profile "east" is configured',
        ),
        "no base64": (
            profile({"certificate-authority-data": "%"}),
            {},
            "BadClusterProfile",
            'access provider "cloud": certificate-authority-data must be base64 of PEM',
        ),
        "no server": (profile({"server": ""}), {}, "BadRestConfig", "untrusted server endpoint"),
        "no tls": (
            profile({"insecure-skip-tls-verify": True}),
            {},
            "BadRestConfig",
            "insecure TLS verification is not allowed",
        ),
        "file": (
            profile({"certificate-authority": "/etc/ca.pem"}),
            {},
            "BadRestConfig",
            "certificate-authority file paths are not allowed, use certificate-authority-data",
        ),
    }.values(),
)
def test_what_is_refused(found, how, reason, message):
    assert refusal(found, **how) == (reason, message)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ("x", "status of the cluster profile must be a mapping"),
        ({"accessProviders": ["cloud"]}, "status.accessProviders of the cluster profile must be a list of named"),
        (
            {"credentialProviders": {"name": "cloud"}},
            "status.credentialProviders of the cluster profile must be a list",
        ),
        ({"accessProviders": [{"name": ["cloud"]}]}, "status.accessProviders of the cluster profile must be a list"),
        (
            {"accessProviders": [{"name": "cloud", "cluster": {**EAST, "extensions": {"a": 1}}}]},
            "extensions of the profile's cluster must be a list of named entries",
        ),
    ],
)
def test_a_profile_of_another_form_is_refused_by_its_field(status, message):
    reason, told = refusal({"metadata": {"name": "east"}, "status": status})
    assert (reason, told.startswith(message)) == ("BadClusterProfile", True), told
