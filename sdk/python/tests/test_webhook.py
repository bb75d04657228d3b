"""Tests of the verification of webhooks, with the vectors of the Go client."""

from __future__ import annotations

import json
import unittest
from pathlib import Path

from carrel import CarrelError, SignatureError, verify_webhook

VECTORS = json.loads((Path(__file__).parents[3] / "client/testdata/webhooks.json").read_text(encoding="utf-8"))


class WebhookTest(unittest.TestCase):
    """Signed requests."""

    def test_webhooks_are_verified(self) -> None:
        for vector in VECTORS:
            with self.subTest(vector["name"]):
                arguments = vector["secret"], vector["headers"], vector["body"].encode(), vector["now"]
                if not vector["valid"]:
                    with self.assertRaises(SignatureError):
                        verify_webhook(*arguments)
                    continue
                message = verify_webhook(*arguments)
                self.assertEqual(message.id, "dlv_1")
                assert message.body["type"] == "turn.completed"
                self.assertEqual(message.body["data"]["threadId"], "thr_1")

    def test_a_secret_is_required(self) -> None:
        vector = VECTORS[0]
        for secret in ("", "whsec_", "whsec_?"):
            with self.assertRaises(CarrelError) as raised:
                verify_webhook(secret, vector["headers"], vector["body"].encode(), vector["now"])
            self.assertNotIsInstance(raised.exception, SignatureError)
