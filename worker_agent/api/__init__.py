"""API types: typed views of every kind we read, and the facts about where each lives.

Reading order: ``meta`` (what every object carries), ``resource_type`` (paths and plurals), ``names`` (every string of
the API), ``workload`` and ``cluster_queue`` (the two kinds everything turns on), then one file per further kind.
``quantity``, ``timestamps``, ``durations`` and ``selectors`` read and print the values inside. ``schema`` is how a view
states its definition, ``crds`` the definitions made of that. Pure: no I/O, no clock.
"""
