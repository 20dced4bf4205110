"""One cluster: the agent, from API types to webhooks. In reading order:

- ``api``          typed views of every kind, names, quantities; the single source of the CRDs
- ``engine``       pure admission engine: state, cycle, plans, lifecycles as ``decide(view, now) -> intents``
- ``jobs``         one file per job kind
- ``validation``   defaulting and validation of every kind
- ``kube``         Kubernetes I/O on one seam, ``Transport``
- ``controllers``  shells: load a view, decide, apply
- ``webhooks``, ``visibility``  HTTPS shells
- ``tunnel``       the connection a worker behind a firewall dials to its hub, and the allow-list on it
- ``app``, ``cli`` wiring and the command line
"""
