"""Preemption: who has to leave so that a workload may come. The cycle knows only the protocol in ``search``.

In reading order: ``search`` (the seam), ``need`` (what must fit), ``ranking`` (the candidates of one queue, kept in
order), ``sequence`` (those of one search), ``classical_search`` and ``fair_search`` (the two rules), ``removal`` (the
step they share), ``victims`` (what a cycle calls), ``messages``.
"""
