"""Events of a turn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from carrel import types as t


@dataclass
class ServerEvent:
    """One event of a stream of server-sent events. Without an id line, the id is empty."""

    id: str = ""
    kind: str = ""
    data: str = ""


@dataclass(frozen=True)
class Queued:
    """The turn waits for others. It has no id."""

    data: t.QueuedEvent
    id: str = ""
    kind: Literal["queued"] = "queued"


@dataclass(frozen=True)
class Step:
    """A step of the turn, such as one search."""

    data: t.StepEvent
    id: str
    kind: Literal["step"] = "step"


@dataclass(frozen=True)
class Delta:
    """A piece of the reply."""

    data: t.DeltaEvent
    id: str
    kind: Literal["delta"] = "delta"


@dataclass(frozen=True)
class Restarted:
    """A part of the turn runs again. Discard the events after `discardAfter`."""

    data: t.RestartedEvent
    id: str
    kind: Literal["restarted"] = "restarted"


@dataclass(frozen=True)
class Done:
    """The turn has ended."""

    data: t.TurnDone
    id: str
    kind: Literal["done"] = "done"


TurnEvent = Queued | Step | Delta | Restarted | Done
"""An event of a turn. Its id continues a stream after it."""


def read_events(chunks: Iterable[str]) -> Iterator[ServerEvent]:
    """Iterate over the events of a text in chunks. Comments are skipped, and so is an event that the end cuts off."""
    event = ServerEvent()
    for line in _lines(chunks):
        if not line:
            complete, event = event, ServerEvent()
            if complete.data:
                yield complete
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "id":
            event.id = value
        elif name == "event":
            event.kind = value
        elif name == "data":
            event.data = f"{event.data}\n{value}" if event.data else value


def _lines(chunks: Iterable[str]) -> Iterator[str]:
    """Iterate over the complete lines. Unlike str.splitlines, only the line endings of streams end a line."""
    rest = ""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split("\n")
        for line in lines:
            yield line.removesuffix("\r")


def turn_event(event: ServerEvent) -> TurnEvent | None:
    """Return the event of a turn, or None for a kind that this version does not support."""
    kinds = {"queued": Queued, "step": Step, "delta": Delta, "restarted": Restarted, "done": Done}
    kind = kinds.get(event.kind)
    return kind(json.loads(event.data), event.id) if kind else None


class TurnText:
    """The text of a reply after the events so far: `str(text)`."""

    def __init__(self) -> None:
        self._pieces: list[Delta] = []

    def apply(self, event: TurnEvent) -> bool:
        """Add an event. It returns True if earlier text was discarded, because a part of the turn runs again."""
        if isinstance(event, Delta):
            self._pieces.append(event)
        if not isinstance(event, Restarted):
            return False
        before = len(self._pieces)
        last = _position(event.data["discardAfter"])
        self._pieces = [piece for piece in self._pieces if _position(piece.id) <= last]
        return len(self._pieces) < before

    def __str__(self) -> str:
        return "".join(piece.data["text"] for piece in self._pieces)


def _position(event_id: str) -> tuple[int, int]:
    """Return the two numbers of an id, which have a dot between them. An invalid id is the first."""
    turn, _, number = event_id.partition(".")
    return int(turn) if turn.isdecimal() else 0, int(number) if number.isdecimal() else 0
