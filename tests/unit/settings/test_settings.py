"""What a user sees of a settings file: defaults, the environment over the file, and wrong settings told plainly."""

from datetime import timedelta
from pathlib import Path

import pytest

from hub.settings import HubSettings
from worker_agent.settings import AgentSettings
from worker_agent.settings_source import SettingsError, load


def read(tmp_path: Path, text: str) -> HubSettings:
    path = tmp_path / "fedhub.yaml"
    path.write_text(text)
    return load(HubSettings, path)


def refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text)
    return str(caught.value).replace(f"configuration {tmp_path / 'fedhub.yaml'}: ", "")


def test_defaults_are_kueues():
    settings = load(AgentSettings, None)
    assert settings.namespace == "kueue-system"
    assert settings.wait_for_pods_ready is not None
    assert settings.wait_for_pods_ready.timeout == timedelta(minutes=30)
    assert settings.integrations.frameworks == ["batch/job"]
    assert settings.client_connection.qps == 300


def test_file_is_read_in_camel_case(tmp_path):
    settings = read(
        tmp_path,
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
        "multiKueue: {workerLostTimeout: 1h30m}\nfederation: {evaluation: ray, ray: {actors: 4}}\n",
    )
    assert settings.multi_kueue.worker_lost_timeout == timedelta(minutes=90)
    assert settings.federation.ray.actors == 4


def test_environment_wins_over_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDHUB_FEDERATION__EVALUATION", "auto")
    settings = read(tmp_path, "federation: {evaluation: ray, roundTimeout: 30s}")
    assert settings.federation.evaluation == "auto"
    assert settings.federation.round_timeout == timedelta(seconds=30)


def test_wrong_environment_variable_is_named(monkeypatch):
    monkeypatch.setenv("FEDHUB_CLIENT_CONNECTION__BURST", "many")
    with pytest.raises(
        SettingsError, match=r"environment FEDHUB_CLIENT_CONNECTION__BURST: clientConnection.burst: 'many': must be"
    ):
        load(AgentSettings, None)


PROVIDER = (
    "{name: cloud, execConfig: {apiVersion: client.authentication.k8s.io/v1, command: login, "
    "env: [{name: REGION, value: eu}]}}"
)
ASKING_PROVIDER = PROVIDER.replace("}]}", "}], interactiveMode: Always}")

WRONG = {
    "unknown field": ("metricss: 3", "metricss: unknown setting; known here: admissionFairSharing, apiVersion"),
    "unknown nested field": ("health: {probe: x}", "health.probe: unknown setting; known here: healthProbeBindAddress"),
    "api version": ("apiVersion: v1", "apiVersion: 'v1': must be one of 'config.kueue.x-k8s.io/v1beta2'"),
    "kind": ("kind: Job", "kind: 'Job': must be one of 'Configuration'"),
    "boolean": (
        "manageJobsWithoutQueueName: perhaps",
        "manageJobsWithoutQueueName: 'perhaps': must be a valid boolean",
    ),
    "port": ("webhook: {port: 70000}", "webhook.port: 70000: must be at most 65535"),
    "duration without unit": (
        "multiKueue: {gcInterval: 5}",
        "multiKueue.gcInterval: 5: must be a duration such as 30s",
    ),
    "duration": (
        "multiKueue: {gcInterval: soon}",
        "multiKueue.gcInterval: 'soon': 'soon' is no duration; write a number",
    ),
    "negative duration": ("multiKueue: {gcInterval: -1s}", "multiKueue.gcInterval: '-1s': must not be negative"),
    "endless duration": (
        "waitForPodsReady: {timeout: 999999999h}",
        "waitForPodsReady.timeout: '999999999h': '999999999h' is too long; a duration is at most 2562047h",
    ),
    "rate": ("clientConnection: {qps: .nan}", "clientConnection.qps: nan: must be a finite number"),
    "namespace": ("namespace: My Namespace", "namespace: 'My Namespace': must match"),
    "endless backoff": (
        "waitForPodsReady: {requeuingStrategy: {backoffBaseSeconds: 10000000000}}",
        "waitForPodsReady.requeuingStrategy.backoffBaseSeconds: 10000000000: must be at most 2147483647",
    ),
    "external framework": (
        "integrations: {externalFrameworks: [Foo.v1.example.com, Foo]}",
        "integrations.externalFrameworks[1]: 'Foo': must be format, 'Kind.version.group.com'",
    ),
    "label to copy": ("integrations: {labelKeysToCopy: [a b]}", "integrations.labelKeysToCopy[0]: 'a b': must match"),
    "transformation output": (
        "resources: {transformations: [{input: a, outputs: {b: much}}]}",
        "resources.transformations[0].outputs.b: 'much': quantities must match the regular expression",
    ),
    "origin": ("multiKueue: {origin: -a}", "multiKueue.origin: '-a': must match"),
    "timestamp": (
        "waitForPodsReady: {requeuingStrategy: {timestamp: Now}}",
        "waitForPodsReady.requeuingStrategy.timestamp: 'Now': must be one of 'Eviction', 'Creation'",
    ),
    "negative backoff": (
        "waitForPodsReady: {requeuingStrategy: {backoffBaseSeconds: -1}}",
        "waitForPodsReady.requeuingStrategy.backoffBaseSeconds: -1: must be at least 0",
    ),
    "fair sharing without strategies": ("fairSharing: {}", "fairSharing.preemptionStrategies: required"),
    "fair sharing strategies": (
        "fairSharing: {preemptionStrategies: [A]}",
        "fairSharing: preemptionStrategies must be one of ['LessThanOrEqualToFinalShare'], ['LessThanInitialShare'],",
    ),
    "sampling interval": (
        "admissionFairSharing: {usageHalfLifeTime: 1h, usageSamplingInterval: 0s}",
        "admissionFairSharing.usageSamplingInterval: '0s': must be more than 0s",
    ),
    "weights": (
        "admissionFairSharing: {usageHalfLifeTime: 1h, resourceWeights: {cpu: -1}}",
        "admissionFairSharing.resourceWeights.cpu: -1: must be at least 0",
    ),
    "transformations": (
        "resources: {transformations: [{input: a}, {input: a}]}",
        "resources: transformations[].input must be unique, found a, a",
    ),
    "transformation strategy": (
        "resources: {transformations: [{input: a, strategy: Keep}]}",
        "resources.transformations[0].strategy: 'Keep': must be one of 'Retain', 'Replace'",
    ),
    "quota check with prefixes": (
        "resources: {quotaCheckStrategy: IgnoreUndeclared, excludeResourcePrefixes: [x]}",
        "resources: quotaCheckStrategy IgnoreUndeclared may not be used with excludeResourcePrefixes",
    ),
    "leader election": (
        "leaderElection: {leaseDuration: 1s}",
        "leaderElection: must satisfy leaseDuration > renewDeadline > retryPeriod",
    ),
    "framework": (
        "integrations: {frameworks: [batch/job, batch/nope]}",
        "integrations: frameworks[1] 'batch/nope' must be one of batch/job, ",
    ),
    "framework twice": (
        "integrations: {frameworks: [pod, batch/job, pod]}",
        "integrations: frameworks[2] 'pod' is there already",
    ),
    "incremental dispatcher": (
        "multiKueue: {incrementalDispatcherConfig: {stepSize: 2}}",
        "multiKueue: incrementalDispatcherConfig may only be set with dispatcherName kueue.x-k8s.io/multikueue-",
    ),
    "two lists of providers": (
        f"multiKueue: {{clusterProfile: {{accessProviders: [{PROVIDER}], credentialsProviders: [{PROVIDER}]}}}}",
        "multiKueue.clusterProfile: accessProviders and credentialsProviders may not both be set",
    ),
    "provider twice": (
        f"multiKueue: {{clusterProfile: {{accessProviders: [{PROVIDER}, {PROVIDER}]}}}}",
        "multiKueue.clusterProfile: accessProviders[].name must be unique, found cloud, cloud",
    ),
    "provider without command": (
        f"multiKueue: {{clusterProfile: {{accessProviders: [{PROVIDER.replace('command: login, ', '')}]}}}}",
        "multiKueue.clusterProfile.accessProviders[0].execConfig.command: required",
    ),
    "provider without version": (
        "multiKueue: {clusterProfile: {accessProviders: [{name: a, execConfig: {command: login}}]}}",
        "multiKueue.clusterProfile.accessProviders[0].execConfig.apiVersion: required",
    ),
    "provider of an old version": (
        f"multiKueue: {{clusterProfile: {{accessProviders: [{PROVIDER.replace('/v1', '/v1alpha1')}]}}}}",
        "multiKueue.clusterProfile.accessProviders[0].execConfig.apiVersion: 'client.authentication.k8s.io/v1alpha1': "
        "must be one of 'client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'",
    ),
    "plugin's environment": (
        f"multiKueue: {{clusterProfile: {{accessProviders: [{PROVIDER.replace('name: REGION, ', '')}]}}}}",
        "multiKueue.clusterProfile.accessProviders[0].execConfig.env[0].name: required",
    ),
    "plugin that asks people": (
        f"multiKueue: {{clusterProfile: {{accessProviders: [{ASKING_PROVIDER}]}}}}",
        "multiKueue.clusterProfile.accessProviders[0].execConfig.interactiveMode: 'Always': must be Never or IfAvail",
    ),
    "address": ("metrics: {bindAddress: 'a:b'}", "metrics.bindAddress: 'a:b': must be host:port or :port"),
    "cipher suites": (
        "tls: {minVersion: VersionTLS13, cipherSuites: [a]}",
        "tls: cipherSuites may not be set with minVersion VersionTLS13",
    ),
    "evaluation": (
        "federation: {evaluation: gpu}",
        "federation.evaluation: 'gpu': must be one of 'inline', 'ray', 'auto'",
    ),
    "actors": ("federation: {ray: {actors: 0}}", "federation.ray.actors: 0: must be at least 1"),
    "not a mapping": ("- a", "must be a mapping of settings, found list"),
    "not YAML": ("a: [", "not YAML: while parsing a flow node"),
}


def test_environment_variable_that_is_no_json_is_named(monkeypatch):
    monkeypatch.setenv("FEDHUB_FEATURE_GATES", "{x")
    with pytest.raises(SettingsError, match=r"environment FEDHUB_FEATURE_GATES: featureGates: '\{x': must be JSON"):
        load(AgentSettings, None)


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG.keys())
def test_wrong_setting_names_itself_its_value_and_what_is_allowed(tmp_path, text, message):
    assert refused(tmp_path, text).startswith(message)


def test_missing_file_names_the_flag():
    with pytest.raises(
        SettingsError, match=r"configuration nowhere.yaml: No such file or directory; name a readable file"
    ):
        load(AgentSettings, Path("nowhere.yaml"))
