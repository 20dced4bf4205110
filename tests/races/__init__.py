"""Users who change their minds while the machinery works: owners are edited, scaled, deleted, made anew under the same
name, lose their Workload or their pods, at moments drawn from a seed, on virtual time. ``python -m tests.races``."""
