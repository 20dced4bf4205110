"""One federation for all files here: berlin dials in, tokyo is dialled, all programs at level debug."""
