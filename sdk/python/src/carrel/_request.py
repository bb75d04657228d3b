"""Requests to the API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, TypedDict, TypeVar
from urllib.parse import quote

T = TypeVar("T")


class CallOptions(TypedDict, total=False):
    """Options of a call."""

    idempotency_key: str
    """
    The key of a POST that creates something, so that a program can repeat the call after its own restart. By default
    every call has a random key, which its retries share.
    """
    prefer: str
    """The Prefer header, such as "wait=5" or "respond-async"."""
    headers: Mapping[str, str]
    """Further headers, such as If-Match."""


@dataclass(frozen=True)
class Request:
    """A request to the API."""

    method: str
    path: str
    query: Mapping[str, str | int | bool | None] = field(default_factory=dict)
    body: Any = None
    """The body, encoded as JSON."""
    content: bytes | None = None
    """A body that is sent as it is, instead."""
    keyed: bool = False
    """Whether the operation honours Idempotency-Key."""
    file: tuple[str, bytes | IO[bytes]] | None = None
    """The name and the content of a file, which httpx reads from the start in each attempt."""

    @property
    def repeatable(self) -> bool:
        """Whether the request may be sent again if it is unknown whether the server has processed it."""
        return self.method in ("GET", "PUT") or self.keyed


def segment(value: str) -> str:
    """Return an id as a segment of a path."""
    return quote(value, safe="")


def pages(read: Callable[[str | None], tuple[list[T], str | None]]) -> Iterator[T]:
    """Iterate over the entries of all pages, which read returns with the cursor of the next page."""
    cursor: str | None = None
    while True:
        entries, cursor = read(cursor)
        yield from entries
        if not cursor:
            return
