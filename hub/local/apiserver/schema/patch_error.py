"""A patch that cannot be applied: the HTTP status, the reason and the words of the real server."""

from typing import Final

UNPROCESSABLE: Final = "the server rejected our request due to an error in our request"


class PatchError(Exception):
    """``status`` 400 means the patch is malformed, 422 that it does not fit the object, 500 lacks a merge key."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = {400: "BadRequest", 413: "RequestEntityTooLarge", 422: "Invalid"}.get(status, "")
        self.message = message


def bad_request(message: str) -> PatchError:
    return PatchError(400, message)


def unprocessable(message: str = UNPROCESSABLE) -> PatchError:
    return PatchError(422, message)
