"""The engine: every decision of one cluster, pure and deterministic. Same input, same decision, bit for bit.

It has two halves. **Scheduling** decides who gets quota; in reading order:

- ``cycle`` (heads in, ``plan`` out) = ``nomination`` (what each head would get alone) + ``ordering`` + ``processing``
  (each takes its room from what the ones before left). ``simulate`` asks the same functions what would be.
- ``flavors`` scans the flavors of a queue: ``modes`` and ``assignment`` are its vocabulary, ``scan`` the memory
  between attempts, ``selection`` and ``flavor_row`` the match of pods and nodes, ``partial_admission`` the search for
  fewer pods.
- ``preemption.search`` and ``tas.placement`` are the seams for victims and nodes; ``tas`` has a map of its own.
- ``state`` is the live world: ``queue_state`` (configuration; ``catalog``, ``activity``, ``wakeups``),
  ``waiting_state`` (who queues) and the workloads with their quota. ``trial`` is its undo journal. ``pending`` is one
  queue's waiting workloads, ``requeue_reason`` why one went back.
- ``quota`` and ``hierarchy`` are the arithmetic of the cohort tree on ``resources`` amounts, ``fair_sharing`` the
  shares.
- ``workload_info`` reduces a Workload to a row: ``pod_shape``, ``pod_requests``, ``limit_ranges``, ``transformations``,
  ``conditions``; ``admissibility`` refuses what is not looked at.
- ``view`` is what others read; ``capacity`` (``flavor_report``, ``node_room``, ``flavor_nodes``, ``physical_room``)
  what the hub is told.
- ``policy`` holds every switch, resolved once from ``feature_gates`` and configuration.

**Lifecycles** decide what happens to one object between its events: ``job_lifecycle``, ``workload_lifecycle`` and the
modules named after their steps. They answer with ``intents``; ``intent_effects`` says what those do to a document.
"""
