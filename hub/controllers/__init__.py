"""The federation's shells: they load what is known, let ``hub.engine`` decide, and apply the outcome.

In reading order: ``federation_objects`` (the manager's objects), ``cluster_controller`` (contact),
``check_controller``, ``sync_controller`` and ``hub_applier`` (each Workload's copies), ``remote_events`` (what workers
tell), ``dispatch_loop`` and ``dispatch_turn`` (where workloads go), ``federation_changes`` (what
an administrator changes), ``incremental_dispatcher``, ``orphan_collector``.
"""
