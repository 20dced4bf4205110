"""Credential plugins: what they are told, what they may answer, and that nothing of it is quoted."""

import asyncio
import json
import sys
from datetime import UTC, datetime

import pytest

from worker_agent.kube import exec_plugin
from worker_agent.kube.exec_plugin import ExecPlugin, PluginError

V1 = "client.authentication.k8s.io/v1"
SECRET = "s3cret-t0ken"


def python(script, *, version=V1, environment=(), cluster="", hint=""):
    return ExecPlugin(sys.executable, version, ("-c", script), environment, hint, cluster)


def answer(version=V1, kind="ExecCredential", **status):
    return json.dumps({"apiVersion": version, "kind": kind, "status": status}).encode()


def decoded(output):
    return exec_plugin.decode(output, python(""))


async def test_it_runs_with_arguments_environment_and_the_cluster_it_is_asked_about():
    script = (
        "import json, os; info = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
        "token = ' '.join([info['apiVersion'], info['kind'], str(info['spec']['interactive']),"
        " info['spec']['cluster']['server'], info['spec']['cluster']['config']['name'], os.environ['REGION']]);"
        "print(json.dumps({'apiVersion': info['apiVersion'], 'kind': 'ExecCredential', 'status': {'token': token}}))"
    )
    cluster = {"server": "https://east.example", "certificate-authority": "/etc/passwd"}
    told = exec_plugin.cluster_info(cluster, {"name": "east"})
    credential = await exec_plugin.run(python(script, environment=(("REGION", "eu"),), cluster=told))
    assert credential.token == f"{V1} ExecCredential False https://east.example east eu"
    assert "passwd" not in told


def test_a_token_that_expires():
    credential = decoded(answer(token=SECRET, expirationTimestamp="2026-01-01T12:00:00Z"))
    assert not credential.is_expired(datetime(2026, 1, 1, 11, 59, 59, tzinfo=UTC))
    assert credential.is_expired(datetime(2026, 1, 1, 12, tzinfo=UTC))
    assert SECRET not in repr(credential)


def test_a_certificate_with_its_key():
    credential = decoded(answer(clientCertificateData="CERT", clientKeyData="KEY"))
    assert (credential.client_certificate, credential.client_key, credential.token) == (b"CERT", b"KEY", "")
    assert not credential.is_expired(datetime.max.replace(tzinfo=UTC))


@pytest.mark.parametrize(
    ("output", "message"),
    {
        "no end of lists": (b'{"x": ' + b"[" * 100_000, "decoding stdout: not an ExecCredential in JSON"),
        "no json": (SECRET.encode(), "decoding stdout: not an ExecCredential in JSON"),
        "other kind": (answer(kind="Secret", token=SECRET), "kind must be ExecCredential"),
        "other version": (answer(version=f"{V1}beta1", token=SECRET), f"plugin returned version {V1}beta1"),
        "no status": (f'{{"apiVersion": "{V1}", "kind": "ExecCredential"}}'.encode(), "didn't return a status field"),
        "nothing": (answer(), "didn't return a token or cert/key pair"),
        "half a pair": (answer(clientKeyData=SECRET), "returned only certificate or key, not both"),
        "line in token": (answer(token=f"{SECRET}\r\nhost: x"), "a token that no request can carry"),
        "bad time": (answer(token=SECRET, expirationTimestamp="soon"), "expirationTimestamp is no timestamp"),
    }.values(),
)
def test_what_it_may_not_answer(output, message):
    with pytest.raises(PluginError, match=r"^getting credentials: ") as caught:
        decoded(output)
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)


async def test_a_plugin_that_fails_is_told_by_its_exit_code_alone():
    script = f"import sys; print('{SECRET}'); print('{SECRET}', file=sys.stderr); sys.exit(3)"
    with pytest.raises(PluginError) as caught:
        await exec_plugin.run(python(script))
    assert str(caught.value) == f"getting credentials: exec: executable {sys.executable} failed with exit code 3"


async def test_a_command_that_is_not_there_comes_with_the_hint():
    plugin = ExecPlugin("/nowhere/cp-creds", V1, install_hint="it is part of the hub's image")
    with pytest.raises(PluginError, match=r"executable /nowhere/cp-creds not found; it is part of the hub's image$"):
        await exec_plugin.run(plugin)


async def test_one_that_does_not_answer_is_ended(monkeypatch):
    monkeypatch.setattr(exec_plugin, "PATIENCE_SECONDS", 0.2)
    with pytest.raises(PluginError, match=r"gave no answer within 0\.2 s"):
        await exec_plugin.run(python("import time; time.sleep(600)"))


@pytest.mark.parametrize("script", ["sleep 600; true", "setsid sleep 30; true", "sleep 600 & exit 0"])
async def test_one_whose_own_children_hang_is_ended(monkeypatch, script):
    monkeypatch.setattr(exec_plugin, "PATIENCE_SECONDS", 0.3)
    async with asyncio.timeout(20):
        with pytest.raises(PluginError, match=r"gave no answer within 0\.3 s"):
            await exec_plugin.run(ExecPlugin("/bin/sh", V1, ("-c", script)))


async def test_one_that_prints_without_end_is_ended():
    with pytest.raises(PluginError, match=r"printed more than 1048576 bytes"):
        await exec_plugin.run(ExecPlugin("/bin/sh", V1, ("-c", "yes; true")))


def test_null_is_nothing():
    credential = decoded(answer(token=SECRET, clientCertificateData=None, clientKeyData=None))
    assert (credential.token, credential.client_certificate) == (SECRET, b"")


def test_what_it_is_run_with_stays_out_of_logs():
    plugin = python(SECRET, environment=(("KEY", SECRET),), cluster=SECRET)
    assert SECRET not in repr(plugin)


@pytest.mark.parametrize(
    "script",
    [
        'print(\'{"token": "leaked-if-seen"\')',
        "import sys; print('leaked-if-seen'); sys.exit(3)",
        "import sys; sys.stderr.write('leaked-if-seen'); sys.exit(1)",
        "import json; print(json.dumps({'kind': 'ExecCredential', 'status': {'token': 'leaked-if-seen\\n'}}))",
    ],
    ids=["no JSON", "failed", "complained", "token of two lines"],
)
async def test_what_a_plugin_printed_is_in_no_error_and_no_log(script, caplog):
    caplog.set_level("DEBUG")
    with pytest.raises(exec_plugin.PluginError) as refused:
        await exec_plugin.run(exec_plugin.ExecPlugin(sys.executable, "client.authentication.k8s.io/v1", ("-c", script)))
    assert "leaked" not in str(refused.value) + caplog.text
