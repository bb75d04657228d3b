"""Tests of requests, errors, pages and uploads."""

from __future__ import annotations

import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from carrel import ApiError, Client, ConnectionFailed
from tests.fake import Fake, Received, Reply, problem


class ClientTest(unittest.TestCase):
    """Requests to a fake server."""

    def test_retries_share_the_idempotency_key(self) -> None:
        def handle(n: int, _request: Received) -> Reply:
            if n == 1:
                return problem(503, "unavailable")
            # The client can't tell whether the second request was processed.
            return Reply({"agent": {"id": "agt_1"}}, broken=n == 2)

        fake = Fake(self, handle, "crl_1")
        self.assertEqual(fake.client.create_agent({"name": "Papers"})["agent"]["id"], "agt_1")
        self.assertEqual(len(fake.received), 3)
        keys = {request.headers["Idempotency-Key"] for request in fake.received}
        self.assertEqual([len(key) > 20 for key in keys], [True])
        self.assertEqual({request.headers["Authorization"] for request in fake.received}, {"Bearer crl_1"})
        self.assertEqual({request.body for request in fake.received}, {'{"name":"Papers"}'})
        fake.client.create_agent({"name": "B"}, idempotency_key="mine")
        self.assertEqual(fake.received[3].headers["Idempotency-Key"], "mine")

    def test_requests_that_may_have_been_processed_are_not_repeated(self) -> None:
        fake = Fake(self, lambda _n, _request: Reply(broken=True))
        with self.assertRaises(ConnectionFailed):
            fake.client.cancel_turn("agt_1", "thr_1")
        self.assertEqual(len(fake.received), 1)
        with self.assertRaises(ConnectionFailed):
            fake.client.get_agent("agt_1")
        self.assertEqual(len(fake.received), 5)

    def test_problems_are_errors_with_a_message_for_a_terminal(self) -> None:
        fake = Fake(self, lambda n, _request: problem(400, "invalid_request") if n == 1 else Reply("<html>", 418))
        with self.assertRaises(ApiError) as raised:
            fake.client.get_agent("agt_1")
        error = raised.exception
        self.assertEqual((error.status, error.code, error.request_id), (400, "invalid_request", "req_1"))
        self.assertEqual(error.fields[0]["pointer"], "/name")
        self.assertEqual(
            str(error), "Detail of invalid_request. /name: Must not be empty. (invalid_request, request req_1)"
        )
        self.assertEqual(len(fake.received), 1)
        with self.assertRaises(ApiError) as raised:
            fake.client.get_agent("agt_1")
        self.assertEqual((raised.exception.code, str(raised.exception)), ("", "The server replied with status 418."))
        with (
            Client("http://127.0.0.1:1", attempts=1) as client,
            self.assertRaisesRegex(ConnectionFailed, "The server at http://127.0.0.1:1 can't be reached: .+"),
        ):
            client.get_agent("agt_1")

    def test_retry_after_is_at_least_the_pause(self) -> None:
        fake = Fake(self, lambda n, _request: problem(429, "rate_limited", Retry_After="7" if n == 1 else "3600"))
        with mock.patch("carrel._client.time.sleep") as sleep, self.assertRaises(ApiError) as raised:
            fake.client.get_agent("agt_1")
        self.assertEqual([call.args[0] for call in sleep.call_args_list], [7, 30, 30])
        self.assertEqual(raised.exception.retry_after, 3600)

    def test_pages_are_one_list(self) -> None:
        def handle(_n: int, request: Received) -> Reply:
            match request.query.get("cursor"):
                case None:
                    return Reply({"threads": [{"id": "thr_3"}, {"id": "thr_2"}], "nextCursor": "a b"})
                case ["a b"]:
                    return Reply({"threads": [{"id": "thr_1"}], "nextCursor": "end"})
            return problem(400, "invalid_request")

        fake = Fake(self, handle)
        ids = []
        with self.assertRaises(ApiError):
            for thread in fake.client.list_threads_all("agt 1", limit=2):
                ids.append(thread["id"])
        self.assertEqual(ids, ["thr_3", "thr_2", "thr_1"])
        self.assertEqual(fake.received[0].path, "/api/agents/agt%201/threads")
        self.assertEqual(fake.received[0].query["limit"], ["2"])
        next(fake.client.list_threads_all("agt_1"))
        self.assertEqual(len(fake.received), 4)

    def test_a_refused_token_is_renewed_once(self) -> None:
        def handle(_n: int, request: Received) -> Reply:
            if request.headers["Authorization"] == "Bearer new":
                return Reply({"agent": {"id": "agt_1"}})
            return problem(401, "invalid_credential")

        rejected: list[str] = []

        def token(refused: str | None) -> str:
            if refused:
                rejected.append(refused)
            return "new" if rejected else "old"

        Fake(self, handle, token).client.get_agent("agt_1")
        self.assertEqual(rejected, ["old"])
        revoked = Fake(self, handle, "revoked")
        with self.assertRaises(ApiError):
            revoked.client.get_agent("agt_1")
        self.assertEqual(len(revoked.received), 1)

    def test_uploads_are_repeated_with_the_whole_file(self) -> None:
        def handle(n: int, _request: Received) -> Reply:
            return problem(429, "rate_limited") if n % 2 else Reply({"uploads": [{"name": "a.txt"}]})

        fake = Fake(self, handle)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.txt")
            path.write_text("A note.")
            for reply in (
                fake.client.upload_file("agt_1", "src_1", path),
                fake.client.upload_file("agt_1", "src_1", b"A note.", name="a.txt"),
                fake.client.upload_file("agt_1", "src_1", io.BytesIO(b"A note."), name="a.txt"),
            ):
                self.assertEqual(reply["uploads"][0]["name"], "a.txt")
        for request in fake.received:
            self.assertIn('filename="a.txt"', request.body)
            self.assertIn("A note.", request.body)

    def test_files_are_read_from_the_connection(self) -> None:
        fake = Fake(self, lambda _n, _request: Reply("# Thread\n"))
        with tempfile.TemporaryDirectory() as folder, fake.client.export_thread("agt_1", "thr_1") as file:
            file.save(Path(folder, "thread.md"))
            self.assertEqual(Path(folder, "thread.md").read_text(), "# Thread\n")
        self.assertEqual(fake.client.export_thread("agt_1", "thr_1").read(), b"# Thread\n")
