"""A cluster without machines: nodes as objects, and the controllers that make Jobs run on them.

It talks to any API server through ``worker_agent.kube`` and keeps nothing but what the objects say, so it can be killed
at any moment and goes on where it was. In reading order: ``shape`` the nodes, ``job_decision`` what a Job needs next
(with ``job_state``, ``job_counting``, ``job_status``, ``job_pods`` and ``completion_indexes``), ``placement`` where a
pod fits, ``pod_life`` what happens to a bound pod (with ``pod_status``); then the shells ``job_controller``,
``scheduler`` and ``kubelet``, and ``cluster``, which runs them all.
"""
