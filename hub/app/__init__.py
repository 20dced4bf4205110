"""The hub as a program: ``configuration`` (what settings mean), ``hub`` (all of it wired), ``evaluators``, ``program``."""
