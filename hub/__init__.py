"""The federation: what makes many clusters one queue. In reading order:

- ``engine``       pure: MultiKueue's state machine, knowledge of each worker, dispatch and its policies
- ``clusters``     one connection per worker; ``clusters.agents`` those that workers dial themselves
- ``evaluation``   which cluster would take a Workload: inline or on Ray
- ``controllers``  shells of the federation
- ``app``          the hub process: an agent on the manager cluster plus the federation
- ``local``        a whole federation on this machine: API servers, simulated nodes, supervisor, demo
- ``cli``          the ``fedhub`` command
"""
