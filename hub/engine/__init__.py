"""The federation's decisions, pure: no I/O, no clock, the same answer to the same question.

In reading order:

- ``remote_group`` (one Workload and its copies), ``group_loading`` (where it comes from), ``intents`` (what is wanted);
- ``sync``: MultiKueue's state machine, with a file per part: ``sync_owner``, ``sync_check``, ``sync_removal``,
  ``sync_job``, ``sync_drift``, ``sync_winner``, ``sync_gates``, ``sync_nomination``; ``remote_objects`` (documents);
- ``knowledge_event``, ``views``, ``node_commitments``: what is known of each worker; ``screen``, ``judging``,
  ``evaluation``: how a workload stands with it; ``work_order``: all of it as one desk, inline or in an actor;
- ``candidates``, ``dispatch``, ``policies``: which cluster is chosen, and why; ``incremental``: Kueue's way;
- ``contact``, ``condition``, ``admission_check``, ``orphans``, ``manager_quota``,
  ``cohort_span``: what the other controllers decide.
"""
