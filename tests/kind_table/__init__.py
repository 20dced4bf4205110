"""How far every job kind comes: ``python -m tests.kind_table``."""
