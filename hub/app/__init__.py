"""The hub as a program: ``configuration`` (what settings mean), ``hub`` (all wired), ``evaluators``, ``program``."""
