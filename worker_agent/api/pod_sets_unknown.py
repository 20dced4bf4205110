"""The error of a job whose pods cannot be told yet."""


class PodSetsUnknown(ValueError):
    """What the job says, or what it refers to, does not give its pod sets; its text is told to the user."""
