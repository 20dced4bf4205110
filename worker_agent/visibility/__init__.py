"""The visibility API ``visibility.kueue.x-k8s.io``: which workloads wait in a queue, in which order.

``question`` reads what is asked from a path and its query, ``summary`` answers from the engine's published view, and
``discovery`` says what there is. All three are pure; ``worker_agent.app.visibility_service`` serves them.
"""
