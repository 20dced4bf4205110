"""The same requests sent to the embedded API server and to a real one, and the answers compared.

``scripts/*.yaml`` are the requests, ``generated`` makes more of them; ``script`` reads them, ``player`` sends them,
``masking`` takes out what may differ (times, UIDs, versions), ``comparison`` finds what does. ``known.yaml`` lists the
differences that stay, each with its reason; one that no longer shows is an error too. ``python -m
tests.realcluster.differential`` prints every difference.
"""
