"""Child processes: remembered, recognised by birth, stopped, killed."""

import dataclasses
import os
import sys

import psutil

from hub.local import processes, spec
from hub.local.federation import Federation
from hub.local.layout import Layout

SLEEPER = ["-c", "import time; time.sleep(60)"]
STUBBORN = [
    "-c",
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)",
]


def test_started_process_is_alive_until_stopped(tmp_path):
    process = processes.start("sleeper", SLEEPER, tmp_path / "log")
    assert process.alive
    processes.stop([process])
    assert not process.alive


def test_a_namesake_with_another_birth_is_left_alone(tmp_path):
    process = processes.start("sleeper", SLEEPER, tmp_path / "log")
    impostor = dataclasses.replace(process, born=process.born - 1000)
    assert not impostor.alive
    processes.kill(impostor)
    assert psutil.pid_exists(process.pid)
    processes.kill(process)
    assert not process.alive


def test_who_ignores_the_request_is_killed(tmp_path):
    log = tmp_path / "log"
    process = processes.start("stubborn", STUBBORN, log)
    while "up" not in log.read_text():
        assert process.alive
    processes.stop([process], timeout_seconds=0.2)
    assert not process.alive


def test_records_survive_a_round_trip(tmp_path):
    record = processes.Process("a", 1, 2.0, ("-m", "x"), "log")
    processes.save(tmp_path / "p.json", [record])
    assert processes.saved(tmp_path / "p.json") == [record]


def test_no_file_means_no_processes(tmp_path):
    assert processes.saved(tmp_path / "none.json") == []


def test_compiled_modules_are_kept_with_the_interpreter_where_they_may_not_be_beside_the_sources(monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    environment = processes.surroundings()
    assert "PYTHONDONTWRITEBYTECODE" not in environment
    assert environment["PYTHONPYCACHEPREFIX"].startswith(sys.prefix)


def test_where_they_may_be_nothing_is_changed(monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    assert processes.surroundings() == dict(os.environ)


def test_a_federation_that_started_nothing_leaves_the_record_of_another_alone(tmp_path):
    layout = Layout(tmp_path)
    running = processes.start("sleeper", SLEEPER, tmp_path / "log")
    processes.save(layout.processes, [running])
    Federation(spec.load(spec.shipped()), spec.shipped(), layout).down()
    assert processes.saved(layout.processes) == [running]
    processes.stop([running])
