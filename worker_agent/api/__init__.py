"""API types: typed views of every kind we read, and the facts about where each lives.

Reading order: ``meta`` (what every object carries), ``resource_type`` (paths and plurals), ``workload`` and
``cluster_queue`` (the two kinds everything turns on), then one file per further kind. Pure: no I/O, no clock.
"""
