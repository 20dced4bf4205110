"""Faults that users of job queueing have met, one test each, named by their number in the collected cases."""
