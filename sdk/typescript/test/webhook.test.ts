import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CarrelError, SignatureError, verifyWebhook } from "../src/index.js";

interface Vector {
  name: string;
  secret: string;
  headers: Record<string, string>;
  body: string;
  now: number;
  valid: boolean;
}

// The vectors of the Go client. The tests run in the folder of the package.
const vectors = JSON.parse(readFileSync("../../client/testdata/webhooks.json", "utf8")) as [Vector, ...Vector[]];

for (const { name, secret, headers, body, now, valid } of vectors) {
  test(`webhook: ${name}`, async () => {
    const verified = verifyWebhook(secret, headers, body, now * 1000);
    if (!valid) return assert.rejects(verified, SignatureError);
    const message = await verified;
    assert.equal(message.id, "dlv_1");
    assert.ok(message.type === "turn.completed" && message.data.threadId === "thr_1");
    const bytes = new TextEncoder().encode(body);
    assert.deepEqual(await verifyWebhook(secret, new Headers(headers), bytes, now * 1000), message);
  });
}

test("a webhook secret is required", async () => {
  const { headers, body, now } = vectors[0];
  for (const secret of ["", "whsec_", "whsec_?"]) {
    await assert.rejects(verifyWebhook(secret, headers, body, now * 1000), (error) => {
      return error instanceof CarrelError && !(error instanceof SignatureError);
    });
  }
});
