"""Topology aware scheduling: on which nodes pods run (spec/tas). In reading order:

- ``placement`` is the protocol that the cycle knows, ``topology_placement`` its implementation: flavors that suit,
  places for an assignment, room after preemption. ``pod_set_asks`` turns an assignment into asks, flavor by flavor.
- ``driver`` places all pod sets of a workload on one flavor's nodes; ``placer`` one group: ``ask`` (the request
  resolved against the levels), ``counting`` (phase 1), ``search`` (phase 2), ``balanced`` in place of it, ``messages``
  when there is no place. ``replacement`` and ``elastic`` change a place that exists.
- ``topology_room`` holds the nodes of all flavors, ``flavor_room`` those of one: ``tree`` (the domains as arrays),
  ``node_facts``, ``feasibility`` (taints, selectors, affinity), ``placed_pods`` (what pods use), ``cells`` (what is
  left). They follow events in place; ``known_counts`` does so for the counts of equal requests. ``leaf_report`` is a
  room in the form in which a hub hears of it.
- ``topology_assignment`` is a place, ``api.topology_encoding`` its form in the API.
- ``second_pass`` offers workloads again that hold quota and lack a place; ``workload_facts`` reads what a Workload
  says.
- ``ungating`` and ``node_failures`` decide what happens to pods and to workloads on failed nodes, ``pod_writes`` says
  what that means for the objects.
- ``rules`` holds the switches.
"""
