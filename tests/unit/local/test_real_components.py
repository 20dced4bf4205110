"""Command lines of the components of a real control plane."""

from pathlib import Path

import pytest

from hub.local.real import components
from hub.local.real.binaries import Binaries
from hub.local.real.components import Ports
from hub.local.real.files import Files

PROGRAMS = Binaries(*(Path("/programs") / name for name in ("etcd", "kube-apiserver", "kcm", "scheduler")))
FILES = Files(Path("/cluster"))
PORTS = Ports(6443, 2379, 2380)


def test_everything_listens_on_loopback_alone():
    lines = [*components.etcd(PROGRAMS, FILES, PORTS), *components.api_server(PROGRAMS, FILES, PORTS, False)]
    listening = [line for line in lines if "listen" in line or "bind" in line]
    assert listening
    assert all("127.0.0.1" in line for line in listening)


def test_controllers_of_jobs_come_only_where_jobs_run():
    with_jobs = components.controller_manager(PROGRAMS, FILES, True)
    without = components.controller_manager(PROGRAMS, FILES, False)
    assert "--controllers=" + ",".join(components.HOUSEKEEPING) in without
    assert not any("job-controller" in argument for argument in without)
    assert any("job-controller" in argument for argument in with_jobs)


@pytest.mark.parametrize("audit", [True, False])
def test_audit_log_is_written_on_demand(audit):
    command = components.api_server(PROGRAMS, FILES, PORTS, audit)
    assert ("--audit-log-path=/cluster/audit.log" in command) is audit


@pytest.mark.parametrize(
    "command", [components.controller_manager(PROGRAMS, FILES, True), components.scheduler(PROGRAMS, FILES)]
)
def test_controllers_serve_no_port(command):
    assert "--secure-port=0" in command
