"""Tests with a real server."""

from __future__ import annotations

import os
import unittest

from carrel import ApiError, Client, TurnText

SERVER = os.environ.get("CARREL_TEST_SERVER", "")
KEY = os.environ.get("CARREL_TEST_KEY", "")


@unittest.skipUnless(SERVER, "CARREL_TEST_SERVER is not set; the tests in e2e set it")
class ServerTest(unittest.TestCase):
    """A program that uses the demo library."""

    def test_a_program_uses_a_real_server(self) -> None:
        client = Client(SERVER, KEY)
        self.addCleanup(client.close)
        agent = client.create_agent({"name": "Python"}, idempotency_key="python")["agent"]
        again = client.create_agent({"name": "Python"}, idempotency_key="python")["agent"]
        self.assertEqual(agent["id"], again["id"])

        landmarks = next(a["id"] for a in client.list_agents_all(limit=1) if a["name"] == "Landmarks")
        found = client.search(landmarks, {"query": "relational model"})
        self.assertEqual(found["results"][0].get("externalId"), "codd-1970")

        thread = client.create_thread(landmarks, {})["thread"]["id"]
        question = "Who proposed the relational model?"
        sent = client.send_message(landmarks, thread, {"text": question}, prefer="respond-async")
        text = TurnText()
        for event in client.stream_turn(landmarks, thread):
            text.apply(event)
        message = client.await_turn(landmarks, thread, sent["turnId"])
        self.assertEqual(message["text"], str(text))
        self.assertTrue(message.get("citations"))
        asked = client.ask(landmarks, "Who invented public key cryptography?", thread_id=thread)
        self.assertEqual(asked.get("status"), "complete")
        roles = [m["role"] for m in client.thread(landmarks, thread)]
        self.assertEqual(roles, ["user", "assistant", "user", "assistant"])
        self.assertIn(b"relational model", client.export_thread(landmarks, thread, format="markdown").read())

        source = client.list_sources(agent["id"])["sources"][0]["id"]
        uploaded = client.upload_file(agent["id"], source, b"# A note\n\nText.", name="note.md")
        self.assertEqual(uploaded["uploads"][0]["name"], "note.md")

        imported = client.send(
            "POST",
            f"/api/agents/{agent['id']}/favourite-files",
            b"@article{codd, title = {A Relational Model}, year = {1970}}",
            headers={"Content-Type": "application/x-bibtex"},
        )
        self.assertIn(b"A Relational Model", imported.read())

        with self.assertRaises(ApiError) as raised:
            client.get_account()
        self.assertEqual(raised.exception.code, "insufficient_scope")
        with Client(SERVER, "crl_wrong") as stranger, self.assertRaises(ApiError) as raised:
            stranger.list_agents()
        self.assertEqual(raised.exception.status, 401)
