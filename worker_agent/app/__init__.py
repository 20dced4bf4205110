"""The agent put together. In reading order:

``configuration`` (settings -> policies); ``agent`` (everything wired, started and stopped in order); ``program`` (the
agent as a program, with probes and metrics); its parts ``webhook_service``, ``job_surroundings``, ``kinds_served``,
``health``, ``metrics_server``, ``view_metrics``, ``memory``.
"""
