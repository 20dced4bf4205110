"""Shells that load a view, call a decision of the engine and apply its intents. In reading order:

``intake`` (watches -> engine); ``engine_messages``, ``engine_work``, ``engine_thread`` (the engine's own loop and
where it runs); ``plan_writer`` (what the cycles decided -> Workloads); ``applier`` with ``known_objects`` and
``write_turns`` (the one place that writes); ``workload_controller``, ``job_controller`` with ``ancestors``,
``queue_controllers``, ``in_use_finalizer``, ``priority_class_controller``, ``capacity_publisher`` (one per thing
reconciled); ``workload_metrics`` (counts what happens).
"""
