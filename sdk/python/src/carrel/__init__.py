"""A client of the REST API of Carrel."""

from carrel import types
from carrel._client import Client, Token
from carrel._errors import ApiError, CarrelError, ConnectionFailed, SignatureError
from carrel._events import Delta, Done, Queued, Restarted, ServerEvent, Step, TurnEvent, TurnText, read_events
from carrel._file import File
from carrel._request import CallOptions
from carrel._webhook import WebhookMessage, verify_webhook

__all__ = [
    "ApiError",
    "CallOptions",
    "CarrelError",
    "Client",
    "ConnectionFailed",
    "Delta",
    "Done",
    "File",
    "Queued",
    "Restarted",
    "ServerEvent",
    "SignatureError",
    "Step",
    "Token",
    "TurnEvent",
    "TurnText",
    "WebhookMessage",
    "read_events",
    "types",
    "verify_webhook",
]
