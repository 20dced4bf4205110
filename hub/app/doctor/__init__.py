"""``fedhub doctor``: what is wrong with an installation, and what to do about it.

- ``snapshot``  reads a cluster once: objects, the server's time, answers to "may it?"; writes nothing
- ``checks``    one file per check: a pure function from a snapshot to findings
- ``finding``   what is wrong, where, and the remedy
- ``examination``  the manager and its workers, and the checks that apply to each
"""
