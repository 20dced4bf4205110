"""The visibility API."""
