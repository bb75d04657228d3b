"""Tests of streamed and polled turns."""

from __future__ import annotations

import unittest

from carrel import ApiError, ConnectionFailed, Delta, Done, Restarted, ServerEvent, Step, TurnText, read_events
from tests.fake import Fake, Received, Reply, problem

PIECES = {
    None: (
        ': comment\n\nevent: queued\ndata: {"position":2}\n\n'
        'id: 1.1\nevent: step\ndata: {"n":1,"kind":"search","label":"Searching","state":"started"}\n\n'
        'id: 1.2\nevent: delta\ndata: {"text":"Hello "}\n\nid: 1.3\nevent: delta\ndata: {"te'  # cut off
    ),
    "1.2": (
        'id: 1.3\nevent: delta\ndata: {"text":"wrld"}\n\nid: 1.4\nevent: restarted\ndata: {"discardAfter":"1.2"}\n\n'
    ),
    "1.4": (
        'id: 1.5\nevent: delta\ndata: {"text":"wörld"}\n\n'
        'id: 1.6\nevent: done\ndata: {"status":"complete","messageId":"msg_1"}\n\n'
    ),
}


class TurnTest(unittest.TestCase):
    """Turns of a fake server."""

    def test_an_interrupted_stream_continues_after_its_last_event(self) -> None:
        def handle(n: int, request: Received) -> Reply:
            if n == 2:
                return problem(503, "unavailable")  # the node restarts
            return Reply(PIECES[request.headers["Last-Event-ID"]], headers={"Content-Type": "text/event-stream"})

        fake = Fake(self, handle)
        text = TurnText()
        kinds = []
        for event in fake.client.stream_turn("agt_1", "thr_1"):
            kinds.append(event.kind)
            self.assertEqual(text.apply(event), isinstance(event, Restarted))
            if isinstance(event, Step):
                self.assertEqual(event.data["label"], "Searching")
            if isinstance(event, Done):
                self.assertEqual(event.data.get("messageId"), "msg_1")
        self.assertEqual(str(text), "Hello wörld")
        self.assertEqual(kinds, ["queued", "step", "delta", "delta", "restarted", "delta", "done"])
        self.assertEqual(len(fake.received), 4)
        self.assertEqual(fake.received[0].query["until"], ["done"])

    def test_a_stream_that_never_continues_ends_with_an_error(self) -> None:
        silent = Fake(self, lambda _n, _request: Reply(""))
        with self.assertRaises(ConnectionFailed):
            list(silent.client.stream_turn("agt_1", "thr_1"))
        self.assertEqual(len(silent.received), 4)
        refusing = Fake(self, lambda _n, _request: problem(404, "not_found"))
        with self.assertRaises(ApiError):
            list(refusing.client.stream_turn("agt_1", "thr_1"))
        self.assertEqual(len(refusing.received), 1)

    def test_events_are_read_across_chunks_and_line_endings(self) -> None:
        text = "id: 1\r\nevent: delta\r\ndata: a\u2028\x85b\r\ndata:c\r\n\r\n:\n\ndata: d\n\ndata: cut off"
        want = [ServerEvent("1", "delta", "a\u2028\x85b\nc"), ServerEvent("", "", "d")]
        self.assertEqual(list(read_events(text)), want)
        self.assertEqual(list(read_events([text])), want)

    def test_text_after_a_restart_is_discarded(self) -> None:
        text = TurnText()
        for number in (2, 10):
            text.apply(Delta({"text": str(number)}, f"1.{number}"))
        self.assertTrue(text.apply(Restarted({"discardAfter": "1.9"}, "1.11")))
        self.assertEqual(str(text), "2")

    def test_a_turn_is_polled_until_it_has_a_reply(self) -> None:
        user = {"role": "user", "turnId": "trn_1"}
        reply = {"id": "msg_2", "role": "assistant", "turnId": "trn_1", "status": "failed"}

        def handle(n: int, request: Received) -> Reply:
            if request.headers["Prefer"] != "wait=30":
                return problem(400, "invalid_request")
            if n == 1:
                return Reply({"status": "working", "messages": [user]}, headers={"ETag": '"1"'})
            if n == 2 and request.headers["If-None-Match"] == '"1"':
                return Reply(status=304, headers={"ETag": '"1"'})
            return Reply({"status": "complete", "messages": [user, reply]})

        fake = Fake(self, handle)
        self.assertEqual(fake.client.await_turn("agt_1", "thr_1", "trn_1")["status"], "failed")
        self.assertEqual(len(fake.received), 3)
        with self.assertRaises(ApiError) as raised:
            fake.client.await_turn("agt_1", "thr_1", "trn_other")
        self.assertEqual(raised.exception.code, "not_found")
