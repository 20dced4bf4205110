"""Ports of a local federation."""

import os
import subprocess
import sys

from hub.local import layout


def test_a_port_is_given_once(monkeypatch):
    """Its program may not listen yet when the next one is drawn."""
    monkeypatch.setattr(layout, "_LAST_PORT", layout._FIRST_PORT + 9)
    monkeypatch.setattr(layout, "_given", set())
    monkeypatch.setattr(layout, "_is_free", lambda port: True)
    assert len({*layout.free_ports(5), *layout.free_ports(5)}) == 10


def test_a_port_is_given_to_one_process_at_a_time(tmp_path):
    few = f"from hub.local import layout; layout._LAST_PORT = {layout._FIRST_PORT + 9}; print(*layout.free_ports(5))"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    first = [sys.executable, "-c", f"{few}; input()"]
    with subprocess.Popen(first, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holding:
        mine = holding.stdout.readline().split()
        theirs = subprocess.run([sys.executable, "-c", few], env=environment, capture_output=True, check=True)
        holding.communicate(b"\n")
    assert len({*mine, *theirs.stdout.split()}) == 10


def test_ports_are_drawn_where_the_file_of_reservations_cannot_be_opened(tmp_path):
    (tmp_path / f"fedhub-ports-{os.getuid()}").symlink_to("elsewhere")
    command = [sys.executable, "-c", "from hub.local import layout; print(*layout.free_ports(2))"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    drawn = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)
    assert len(drawn.stdout.split()) == 2
