"""Kubernetes I/O over one seam (DESIGN section 5). In reading order:

``transport`` the seam, ``clock`` time, ``errors`` what an API server answers when it refuses, ``retry`` and ``budget``
what is tried again and how fast, ``client`` verbs in bytes, ``watch`` the list-then-watch machine, ``informer`` a
store kept by it, ``workqueue`` and ``controller`` work from changes, ``events`` and ``lease`` two writers everybody
needs, ``kubeconfig`` and ``kubernetes_transport`` the way to a real API server, ``faults`` a transport that misbehaves,
``authority`` certificates of our own, ``proxies`` which HTTP proxy the environment names.
"""
