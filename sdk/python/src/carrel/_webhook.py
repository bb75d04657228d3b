"""Verification of webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

from carrel import types as t
from carrel._errors import CarrelError, SignatureError

# The maximum age of a message, and the tolerated difference of the clocks, in seconds.
TOLERANCE = 5 * 60


@dataclass(frozen=True)
class WebhookMessage:
    """A message of a webhook."""

    id: str
    """The same in all deliveries of a message, which may arrive more than once."""
    body: t.TurnCompletedMessage | t.TurnFailedMessage | t.WebhookTestMessage
    """The decoded body. `body["type"]` tells the kinds of messages apart."""


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes, now: float | None = None) -> WebhookMessage:
    """Verify the signature of a webhook request (Standard Webhooks) and return its message.

    The body is the one that was received, before it is parsed. `now` is the time in Unix seconds.
    """
    key = _decode(secret.removeprefix("whsec_"))
    if not key:
        raise CarrelError("The secret of the webhook is not whsec_ and base64.")
    values = {name.lower(): value for name, value in headers.items()}
    message_id, stamp = values.get("webhook-id", ""), values.get("webhook-timestamp", "")
    if not message_id or not stamp.isdecimal() or len(stamp) > 12:
        raise SignatureError("Headers of the webhook are missing.")
    age = (time.time() if now is None else now) - int(stamp)
    if abs(age) > TOLERANCE:
        raise SignatureError(f"The webhook was sent {age:.0f} seconds ago.")
    want = hmac.digest(key, f"{message_id}.{stamp}.".encode() + body, hashlib.sha256)
    # The header has several signatures while a secret is being replaced.
    for part in values.get("webhook-signature", "").split():
        version, _, encoded = part.partition(",")
        if version == "v1" and hmac.compare_digest(_decode(encoded), want):
            return WebhookMessage(message_id, json.loads(body))
    raise SignatureError("The signature of the webhook is not valid.")


def _decode(text: str) -> bytes:
    """Decode base64. Another text is empty."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
