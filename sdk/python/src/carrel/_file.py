"""Replies that are files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType

import httpx

from carrel._errors import ConnectionFailed


class File:
    """A file in a reply, which is read from the connection. It is closed when it was read, or by `with`."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the content."""
        try:
            yield from self.response.iter_bytes()
        except httpx.TransportError as error:
            raise ConnectionFailed(f"The connection was lost: {error}") from error
        finally:
            self.response.close()

    def read(self) -> bytes:
        """Return the whole content."""
        return b"".join(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the content to a file."""
        with open(path, "wb") as file:
            file.writelines(self)

    def close(self) -> None:
        """Close the connection."""
        self.response.close()

    def __enter__(self) -> File:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
