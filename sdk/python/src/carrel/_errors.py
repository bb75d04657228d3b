"""The errors of this package."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import Any, cast

import httpx

from carrel.types import FieldProblem


class CarrelError(Exception):
    """The base of all errors of this package."""


class ConnectionFailed(CarrelError):  # noqa: N818 # the same name as in TypeScript
    """The server could not be reached, or a connection was lost."""


class SignatureError(CarrelError):
    """A webhook request was not signed with the secret, or is too old."""


class ApiError(CarrelError):
    """An error reply of the server: a problem detail (RFC 9457), or the status of a proxy in front of it."""

    status: int
    """The status of the reply."""
    code: str
    """The stable code of the problem. It is empty if the reply is no problem detail."""
    detail: str
    """What to do."""
    request_id: str
    """Identifies the request in the log of the server."""
    fields: list[FieldProblem]
    """The invalid fields of the request."""
    retry_after: float
    """The pause in seconds that the server requests, or 0."""
    problem: dict[str, Any]
    """All members of the problem, such as `resetsAt` of `spend_cap_reached`."""

    def __init__(self, status: int, problem: dict[str, Any], retry_after: float = 0) -> None:
        self.status = status
        self.code = _text(problem, "code")
        self.request_id = _text(problem, "requestId")
        self.detail = (
            _text(problem, "detail")
            or _text(problem, "error_description")
            or f"The server replied with status {status}."
        )
        self.fields = cast("list[FieldProblem]", problem.get("errors") or [])
        self.retry_after = retry_after
        self.problem = problem
        message = self.detail + "".join(f" {field['pointer']}: {field['detail']}" for field in self.fields)
        reference = ", ".join(filter(None, [self.code, self.request_id and f"request {self.request_id}"]))
        super().__init__(f"{message} ({reference})" if reference else message)


def read_error(response: httpx.Response) -> ApiError:
    """Read an error reply. A proxy replies with HTML, so that only its status is used."""
    try:
        problem = response.json()
    except ValueError:
        problem = None
    return ApiError(
        response.status_code,
        problem if isinstance(problem, dict) else {},
        _retry_after(response.headers.get("Retry-After", "")),
    )


def _text(problem: dict[str, Any], name: str) -> str:
    value = problem.get(name)
    return value if isinstance(value, str) else ""


def _retry_after(value: str) -> float:
    """Return the seconds of a Retry-After header, which has seconds or a date."""
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0
