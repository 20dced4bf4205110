"""Preemption: who has to leave so that a workload may come. The cycle knows only the protocol in ``search``."""
