"""Settings (see hub/local contract): filled in below."""
