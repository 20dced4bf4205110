"""What the embedded API server knows about types; pure, called by its core through ``SchemaRegistry``.

In reading order: ``registry`` (the door), ``node`` (a compiled schema), ``custom_kind`` (one version of a CRD), then by
task:

- coming in: ``pruning``, ``defaulting``; for built-in kinds ``go_decoding`` and ``type_defaults``
- refusing: ``structural_validation`` with ``formats`` and ``go_patterns``, ``list_types``, ``cel_rules`` with
  ``object_meta`` and ``name_rules``; for built-in kinds ``builtin_validation``, ``pod_validation``,
  ``job_validation`` and what they name; ``field_errors`` holds the words, ``write_warnings`` what is only warned of
- patching: ``json_merge``, ``json_patch``, ``strategic_merge``
- owning: ``field_set``, ``typed_values``, ``typed_comparison``, ``typed_check``, ``managed_fields``,
  ``server_side_apply``
- showing: ``tables``, ``custom_columns`` with ``json_path`` and ``ages``, ``builtin_columns``, ``pod_columns``;
  ``openapi`` and ``published_schemas``
"""
