"""Tests on a manager with two workers that start without queues: nodes come to both when they are asked for.

Most are about one cluster alone, and use ``quick``; it has racks of nodes and a node with GPUs as well.
"""
