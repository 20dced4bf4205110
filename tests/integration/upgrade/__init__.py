"""Today's programs on what an earlier release left: ``releases/`` holds it, made by ``scripts/snapshot-release``."""
