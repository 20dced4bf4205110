"""Tests on one cluster with racks of nodes, a node with GPUs, and nodes that come when they are asked for."""
