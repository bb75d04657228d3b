"""The client."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import IO, Any

import httpx
from typing_extensions import Self, Unpack

from carrel import types as t
from carrel._errors import ApiError, CarrelError, ConnectionFailed, read_error
from carrel._events import Done, TurnEvent, read_events, turn_event
from carrel._file import File
from carrel._operations import Operations
from carrel._request import CallOptions, Request, segment

Token = str | Callable[[str | None], str]
"""
A token, or a function that returns the token of the next request. Its argument is the token that the server has just
refused, if any; to give up, the function returns the same token or raises an error.
"""

# The maximum pause between two attempts in seconds, also if Retry-After is longer.
MAX_BACKOFF = 30.0
# The server holds a request for up to 30 seconds, and sends a comment on silent streams more often.
TIMEOUT = httpx.Timeout(90, connect=15)


class Client(Operations):
    """A client of the REST API of a Carrel server.

    It has a method for each operation, and generators for lists, for example `list_agents` and `list_agents_all`.
    Errors are `ApiError` and `ConnectionFailed`. A client may be used by several threads.
    """

    def __init__(
        self,
        server: str,
        token: Token | None = None,
        *,
        http: httpx.Client | None = None,
        attempts: int = 4,
        backoff: float = 0.25,
    ) -> None:
        """Create a client of the server at a base URL.

        `http` sends the requests, by default a client of its own. `attempts` is the number of times a request is sent,
        and `backoff` the pause in seconds before the first retry, which doubles with each.
        """
        self.server = server.rstrip("/")
        self._token = token
        self._http = http or httpx.Client(timeout=TIMEOUT)
        self._attempts = attempts
        self._backoff = backoff

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(
        self,
        agent_id: str,
        message: str | t.MessageSend,
        *,
        thread_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.Message:
        """Send a message and wait for the end of its turn, however long that takes.

        It returns the reply, which may have the status `failed` or `cancelled`. Without a thread, it creates one.
        """
        body: t.MessageSend = {"text": message} if isinstance(message, str) else message
        thread_id = thread_id or self.create_thread(agent_id, {})["thread"]["id"]
        call: CallOptions = {"prefer": "respond-async", **options}
        sent = self.send_message(agent_id, thread_id, body, **call)
        return self.await_turn(agent_id, thread_id, sent["turnId"])

    def await_turn(self, agent_id: str, thread_id: str, turn_id: str) -> t.Message:
        """Poll the messages of a thread until the turn has ended and return its reply.

        The reply may have the status `failed` or `cancelled`.
        """
        request = Request("GET", f"{_thread_path(agent_id, thread_id)}/messages")
        etag = ""
        while True:
            # The server holds the request until a change.
            response = self._send(request, {"prefer": "wait=30", "headers": {"If-None-Match": etag} if etag else {}})
            etag = response.headers.get("ETag", "")
            if response.status_code == 304:
                continue
            page: t.MessageList = _decode(response)
            for message in page["messages"]:
                if message.get("turnId") == turn_id and message["role"] == "assistant":
                    return message
            if page["status"] == "complete":
                raise ApiError(404, {"code": "not_found", "detail": "The thread has no reply of this turn."})

    def stream_turn(self, agent_id: str, thread_id: str, *, after: str = "") -> Iterator[TurnEvent]:
        """Iterate over the events of the latest turn of a thread until it is done.

        After a lost connection, it continues after the last event. `after` is the id of the last event that the caller
        has.
        """
        request = Request("GET", f"{_thread_path(agent_id, thread_id)}/events", query={"until": "done"})
        failures = 0
        while True:
            headers = {"Accept": "text/event-stream", **({"Last-Event-ID": after} if after else {})}
            # Requests are retried by _send, so that a refusal is final.
            response = self._send(request, {"headers": headers}, stream=True)
            lost: Exception | None = None
            try:
                for received in read_events(response.iter_text()):
                    event = turn_event(received)
                    after = received.id or after
                    failures = 0
                    if event:
                        yield event
                    if isinstance(event, Done):
                        return
            except (httpx.TransportError, ValueError) as error:
                lost = error
            finally:
                response.close()
            failures += 1
            if failures >= self._attempts:
                raise ConnectionFailed("The stream ended before the turn was done.") from lost
            time.sleep(min(self._backoff * 2**failures, MAX_BACKOFF))

    def thread(self, agent_id: str, thread_id: str) -> list[t.Message]:
        """Return all messages of a thread in chronological order."""
        messages: list[t.Message] = []
        cursor: str | None = None
        while True:
            page = self.list_messages(agent_id, thread_id, limit=200, cursor=cursor)
            messages = page["messages"] + messages  # a page is in order, and the next one is older
            cursor = page.get("nextCursor")
            if not cursor:
                return messages

    def upload_file(
        self,
        agent_id: str,
        source_id: str,
        content: str | os.PathLike[str] | bytes | IO[bytes],
        *,
        name: str | None = None,
        **options: Unpack[CallOptions],
    ) -> t.UploadList:
        """Upload a file to a source: the file at a path, the bytes, or an open file that can seek.

        `name` is required for bytes. A path or an open file is not loaded into memory.
        """
        if isinstance(content, (str, os.PathLike)):
            with open(content, "rb") as file:
                return self.upload_file(agent_id, source_id, file, name=name or os.path.basename(content), **options)
        filename = name or os.path.basename(str(getattr(content, "name", "")))
        if not filename:
            raise CarrelError("An upload needs a name.")

        path = f"/api/agents/{segment(agent_id)}/sources/{segment(source_id)}/files"
        reply: t.UploadList = self._call(Request("POST", path, file=(filename, content)), options)
        return reply

    def send(self, method: str, path: str, content: bytes | None = None, **options: Unpack[CallOptions]) -> File:
        """Send a request to a path of the server with the credential and the retries of the client.

        It is for operations without a method, such as the import of a BibTeX file. The headers have the Content-Type.
        """
        return self._open(Request(method, path, content=content), options)

    def _call(self, request: Request, options: CallOptions) -> Any:
        return _decode(self._send(request, options))

    def _open(self, request: Request, options: CallOptions) -> File:
        return File(self._send(request, options, stream=True))

    def _send(self, request: Request, options: CallOptions, *, stream: bool = False) -> httpx.Response:
        """Send a request with retries. With stream, the body of a successful reply has not been read."""
        headers = httpx.Headers({"Accept": "application/json, */*;q=0.5"})
        if request.keyed:
            headers["Idempotency-Key"] = options.get("idempotency_key") or str(uuid.uuid4())
        if "prefer" in options:
            headers["Prefer"] = options["prefer"]
        headers.update(options.get("headers", {}))
        pause = self._backoff
        for attempt in range(1, self._attempts + 1):
            try:
                return self._authorized(request, headers, stream)
            except (ApiError, ConnectionFailed) as error:
                if attempt == self._attempts or not _retryable(request, error):
                    raise
                if isinstance(error, ApiError):
                    pause = max(pause, error.retry_after)
            time.sleep(min(pause, MAX_BACKOFF))
            pause *= 2
        raise CarrelError("The number of attempts must be at least 1.")

    def _authorized(self, request: Request, headers: httpx.Headers, stream: bool) -> httpx.Response:
        """Send a request once, and a second time with another token if the server refuses the first."""
        token = self._token(None) if callable(self._token) else self._token
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        try:
            return self._attempt(request, headers, stream)
        except ApiError as error:
            if error.status != 401 or not callable(self._token):
                raise
            renewed = self._token(token)
            if renewed == token:
                raise
        headers["Authorization"] = f"Bearer {renewed}"
        return self._attempt(request, headers, stream)

    def _attempt(self, request: Request, headers: httpx.Headers, stream: bool) -> httpx.Response:
        """Send a request once."""
        prepared = self._http.build_request(
            request.method,
            self.server + request.path,
            params={name: value for name, value in request.query.items() if value is not None},
            json=request.body,
            content=request.content,
            files={"file": request.file} if request.file else None,
            headers=headers,
        )
        try:
            response = self._http.send(prepared, stream=True)
            if not stream or response.status_code >= 400:
                response.read()
        except httpx.TransportError as error:
            raise ConnectionFailed(f"The server at {self.server} can't be reached: {error}") from error
        if response.status_code >= 400:
            raise read_error(response)
        return response


def _decode(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError as error:
        raise CarrelError("The reply of the server is not JSON.") from error


def _retryable(request: Request, error: ApiError | ConnectionFailed) -> bool:
    """Report whether another attempt may succeed and does no harm."""
    if isinstance(error, ConnectionFailed):
        return request.repeatable
    if error.status in (429, 503):
        return True  # the server has not processed the request
    if error.status in (502, 504):
        return not error.code and request.repeatable  # from a proxy; the codes of the server are results
    return error.code == "idempotency_in_progress"


def _thread_path(agent_id: str, thread_id: str) -> str:
    return f"/api/agents/{segment(agent_id)}/threads/{segment(thread_id)}"
