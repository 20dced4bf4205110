"""One federation for all files here: the demo's manager, and berlin, whose agent dials in."""
