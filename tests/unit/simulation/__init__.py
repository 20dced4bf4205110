"""The pure decisions of the simulated cluster."""
