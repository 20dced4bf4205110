"""Workers whose agents dial in: who may (``tokens``, ``records``, ``enrolments``), and the connections they hold.

``listener`` is the door, ``links`` the connections of every agent, ``tunnel_transport`` what the rest of the hub sees
of them: a Transport like any other.
"""
