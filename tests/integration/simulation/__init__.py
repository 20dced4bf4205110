"""The simulated cluster beside the embedded API server, on virtual time."""
