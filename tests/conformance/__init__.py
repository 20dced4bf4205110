"""Recorded behaviour of the reference engine, replayed: ``python -m tests.conformance PATH...``.

``runner`` finds the cases and counts; ``registry`` says which module runs which file; ``case`` is what such a module
sees; ``comparison`` holds the rules of equality that all share. One module per area: ``webhooks``, ``cache``, ``jobs``,
``multikueue``, ``fuzz``. An area module exports ``RUNNERS``, from file-stem pattern to a function that takes a case
and returns what differs (an empty list: passed). It raises ``Skip`` with a reason where a case cannot be judged.
"""
