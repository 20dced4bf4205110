"""Ports of a local federation."""

from hub.local import layout


def test_a_port_is_given_once(monkeypatch):
    """Its program may not listen yet when the next one is drawn."""
    monkeypatch.setattr(layout, "_LAST_PORT", layout._FIRST_PORT + 9)
    monkeypatch.setattr(layout, "_given", set())
    monkeypatch.setattr(layout, "_is_free", lambda port: True)
    assert len({*layout.free_ports(5), *layout.free_ports(5)}) == 10
