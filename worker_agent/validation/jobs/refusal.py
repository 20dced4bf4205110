"""The refusal of a job for a reason that belongs to no field."""


class JobRefused(ValueError):
    """The request fails with this text alone."""
