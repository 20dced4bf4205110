"""What the embedded API server knows about types; pure, called by its core through ``SchemaRegistry``.

In reading order: ``registry`` (the door), ``node`` (a compiled schema), ``custom_kind`` (one version of a CRD), then by
task: ``defaulting``, ``pruning``, ``structural_validation`` with ``formats``, ``list_types``, ``object_meta`` and
``cel_rules``; ``json_merge``, ``json_patch``, ``strategic_merge``; ``field_set``, ``typed_values``, ``managed_fields``
and ``server_side_apply``; ``custom_columns`` and ``tables`` with ``json_path``.
"""
