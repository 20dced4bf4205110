"""The HTTP shell of ``worker_agent.validation``. In reading order:

``review`` (AdmissionReview in and out); ``hooks`` (which rule stands behind which path); ``server`` (HTTPS);
``certificates`` and ``certificate_store`` (our own CA, kept in a Secret); ``configurations`` (what the API server is
told).
"""
