"""The way to a worker that no firewall lets in: its agent dials the hub, whose requests come back through that.

In reading order: ``protocol`` (what both ends agree on), ``identity`` and ``tls`` (who the agent is to the hub),
``hub_addresses``, ``hub_api`` and ``joining`` (how it becomes and stays that), ``pace``, ``link``, ``held_links``,
``dialer`` and ``service`` (links to every replica of the hub); ``pipe``, ``wire``, ``session``, ``caller`` and
``answerer`` (many exchanges on one connection, the hub's end and the agent's); ``api_request``, ``allow_list``,
``objects`` and ``gatekeeper`` (what of all that may reach the API server).
"""
