"""An embedded Kubernetes API server: a pure core and the shells around it. In reading order:

``resources`` what is served and where; ``store`` objects, the revision counter and the event log; ``request_path`` a
URL read; ``core`` the entry ``handle(request, identity, now)``, which sends a request to ``reading``, ``watching``,
``creation``, ``updates``, ``patches``, ``deletion``, ``scale``, ``reviews`` or ``discovery``; ``strategy`` what the
server does to each kind; ``admission`` and ``webhook_rules`` what may change or refuse a write; ``crds``, ``garbage``
what follows one; ``conversion`` kinds with several versions; ``aggregation`` the APIs of other servers. ``schema``
knows the types: defaults, validation, apply.

All of those are pure: a webhook call is yielded and its answer sent back. The shells: ``api_server`` (waiting, for all
transports), ``in_process`` (transport for tests and the colocated simulation), ``http`` (HTTPS), ``persistence``
(SQLite), ``webhook_client``, ``relay_client`` and ``availability`` (aggregated servers), ``service_addresses`` (where
Services really are), ``certificates``, ``kubeconfig_files``, and ``serve``, which puts one server together.
"""
