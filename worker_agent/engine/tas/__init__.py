"""Topology aware scheduling: on which nodes pods run. The cycle knows only the protocol in ``placement``."""
