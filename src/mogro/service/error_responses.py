"""What a caller is told when something goes wrong: one place, one table."""

import re
from http import HTTPStatus

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from mogro.agent import errors
from mogro.service.wire import ErrorAnswer

_ARGUMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_.\[\]'\" -]{0,80}): ")
_PATH = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)
_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (errors.UnknownDecision, 404),
    (errors.ConflictingReward, 409),
    (errors.JournalUnavailable, 503),
    (errors.ClosedAgent, 503),
    (errors.JournalError, 500),
    (ModuleNotFoundError, 501),
    (ValueError, 422),
)
_NAMES = {413: "ContentTooLarge"}  # those of HTTPStatus, but this one changed with Python


def error_answer(error: Exception) -> tuple[int, ErrorAnswer]:
    """Return the status of the answer to a request that has failed so, and what it says."""
    if isinstance(error, HTTPException):  # of the service itself
        status = error.status_code
        name = _NAMES.get(status) or HTTPStatus(status).phrase.replace(" ", "")
        return status, _named_answer(name, error.detail)
    if isinstance(error, msgspec.ValidationError):
        return 422, _validation_answer(str(error))
    if isinstance(error, msgspec.DecodeError | UnicodeDecodeError):
        return 400, _named_answer("BadRequest", f"body: expected JSON, {error}")
    status = next((status for error_type, status in _STATUS if isinstance(error, error_type)), 500)
    if status == 500:  # a bug
        return status, ErrorAnswer("InternalError", "the service has failed; its log says why")
    return status, _named_answer(type(error).__name__, str(error))


def error_response(error: Exception) -> Response:
    """Return what a caller is told of an error."""
    status, answer = error_answer(error)
    headers = dict(getattr(error, "headers", None) or {})
    if status == 503:
        headers.setdefault("retry-after", "1")
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status in (408, 413):
        headers["connection"] = "close"  # else the rest of the body would have to be read
    return Response(msgspec.json.encode(answer), status, headers, media_type="application/json")


def _named_answer(name: str, message: str) -> ErrorAnswer:
    """Return an answer, with the argument that the message begins with."""
    match = _ARGUMENT.match(message)
    return ErrorAnswer(name, message, match[1] if match else None)


def _validation_answer(message: str) -> ErrorAnswer:
    """Name the argument of a body that is not of the types expected."""
    match = _PATH.fullmatch(message)
    description, argument = (match[1], match[2] or "body") if match else (message, "body")
    field_match = re.search(r"(?:required|unknown) field `([^`]*)`", description)
    if field_match:
        argument = field_match[1] if argument == "body" else f"{argument}.{field_match[1]}"
    description = description[:1].lower() + description[1:]
    return ErrorAnswer("ValidationError", f"{argument}: {description}", argument)
