"""Connections to workers: where credentials come from, what they may not contain, and who is in contact.

In reading order: ``credentials`` (Secret, file, profile), ``kubeconfig_safety`` and ``kubeconfig_path`` (what is
refused), ``worker_watches`` and ``worker_connection`` (one open connection), ``remote_clients`` (the registry and its
reconcile), ``kubeconfig_file_watch``; ``agents`` for workers that dial in.
"""
