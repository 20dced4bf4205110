"""Kubernetes I/O against a small scripted API server on virtual time."""
