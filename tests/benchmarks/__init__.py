"""Programs that measure and print JSON; run them by name: ``python -m tests.benchmarks.engine_cycle``."""
