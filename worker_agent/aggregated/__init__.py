"""APIs of our own behind the API server's address: who is asking (``front_proxy``), whether they may (``access``),
how the API server finds us (``registration``), and the HTTPS server itself (``server``).

The API server authenticates users, checks their roles, and sends their requests on with their names in headers; by its
front-proxy certificate we know that it was it who wrote them.
"""
