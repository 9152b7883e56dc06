"""What a caller is told when something goes wrong: one place, one table."""

import re
from typing import Any

import msgspec
from starlette.responses import Response

from mogro.agent import errors
from mogro.service.wire import ErrorAnswer

_ARGUMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_.\[\]'\" -]{0,80}): ")
_PATH = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)


class RequestRefused(ValueError):  # noqa: N818
    """A request that the service itself refuses.

    Attributes
    ----------
    status
        Of the answer.
    retry
        Seconds after which to try again, if that may help.
    """

    def __init__(self, status: int, message: str, *, retry: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry = retry


_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (errors.UnknownDecision, 404),
    (errors.ConflictingReward, 409),
    (errors.JournalUnavailable, 503),
    (errors.ClosedAgent, 503),
    (errors.JournalError, 500),
    (msgspec.ValidationError, 422),
    (msgspec.DecodeError, 400),
    (UnicodeDecodeError, 400),
    (ModuleNotFoundError, 501),
    (ValueError, 422),
)
_NAMES = {400: "NoJSON", 401: "NoKey", 403: "NotAllowed", 404: "NotFound", 405: "WrongMethod"}
_NAMES |= {413: "TooLarge", 421: "WrongHost", 429: "TooMany", 503: "Busy", 408: "TooSlow"}


def http_status(error: Exception) -> int:
    """Return the status of the answer to a request that has failed so; 500 if nobody foresaw it."""
    if isinstance(error, RequestRefused):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def error_body(error: Exception) -> ErrorAnswer:
    """Return what the caller is told of an error."""
    status = http_status(error)
    if isinstance(error, RequestRefused):
        return ErrorAnswer(_NAMES.get(status, "RequestRefused"), str(error), _argument(str(error)))
    if isinstance(error, msgspec.ValidationError):
        return _invalid(str(error))
    if isinstance(error, msgspec.DecodeError | UnicodeDecodeError):
        return ErrorAnswer(_NAMES[400], f"body: expected JSON, {error}", "body")
    if status == 500:
        return ErrorAnswer("InternalError", "the service has failed; its log says why")
    return ErrorAnswer(type(error).__name__, str(error), _argument(str(error)))


def error_response(error: Exception) -> Response:
    """Return what a caller is told of an error."""
    status = http_status(error)
    headers = {}
    if isinstance(error, RequestRefused) and error.retry is not None:
        headers["retry-after"] = str(error.retry)
    elif status == 503:
        headers["retry-after"] = "1"
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status in (408, 413):
        headers["connection"] = "close"  # else the rest of the body would have to be read
    body = msgspec.json.encode(error_body(error))
    return Response(body, status, headers, media_type="application/json")


def batch_answer(result: Any) -> dict[str, Any]:
    """Return the answer to a call of a batch."""
    if isinstance(result, Exception):
        return {"status": http_status(result), "body": error_body(result)}
    return {"status": 200, "body": result}


def _argument(message: str) -> str | None:
    match = _ARGUMENT.match(message)
    return match[1] if match else None


def _invalid(message: str) -> ErrorAnswer:
    """Name the argument of a body that is not of the types expected."""
    match = _PATH.fullmatch(message)
    words, argument = (match[1], match[2] or "body") if match else (message, "body")
    missing = re.search(r"(?:required|unknown) field `([^`]*)`", words)
    if missing:
        argument = missing[1] if argument == "body" else f"{argument}.{missing[1]}"
    return ErrorAnswer("ValidationError", f"{argument}: {words[:1].lower()}{words[1:]}", argument)
