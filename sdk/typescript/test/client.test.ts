import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, Carrel, ConnectionFailed } from "../src/index.js";
import { fake, problem, reply } from "./fake.js";

test("retries share the idempotency key", async (t) => {
  const { client, received } = await fake(
    t,
    (n, _request, response) => {
      if (n === 1) problem(response, 503, "unavailable");
      else if (n === 2)
        response.destroy(); // the client can't tell whether the request was processed
      else reply(response, { agent: { id: "agt_1" } });
    },
    { token: "crl_1" },
  );
  assert.equal((await client.createAgent({ name: "Papers" })).agent.id, "agt_1");
  assert.equal(received.length, 3);
  const key = received[0]?.headers["idempotency-key"] as string;
  assert.ok(key.length > 20);
  for (const request of received) {
    assert.equal(request.headers["idempotency-key"], key);
    assert.equal(request.headers.authorization, "Bearer crl_1");
    assert.equal(request.body, '{"name":"Papers"}');
  }
  await client.createAgent({ name: "B" }, { idempotencyKey: "mine" });
  assert.equal(received[3]?.headers["idempotency-key"], "mine");
});

test("requests that may have been processed are not repeated", async (t) => {
  const { client, received } = await fake(t, (_n, _request, response) => response.destroy());
  await assert.rejects(client.cancelTurn("agt_1", "thr_1"), ConnectionFailed);
  assert.equal(received.length, 1);
  await assert.rejects(client.getAgent("agt_1"), ConnectionFailed);
  assert.equal(received.length, 5);
});

test("problems are errors with a message for a terminal", async (t) => {
  const { client, received } = await fake(t, (n, _request, response) => {
    if (n === 1) return problem(response, 400, "invalid_request");
    response.statusCode = 418;
    response.end("<html>");
  });
  await assert.rejects(client.getAgent("agt_1"), (error) => {
    assert.ok(error instanceof ApiError);
    assert.equal(error.status, 400);
    assert.equal(error.code, "invalid_request");
    assert.equal(error.fields[0]?.pointer, "/name");
    const want = "Detail of invalid_request. /name: Must not be empty. (invalid_request, request req_1)";
    assert.equal(error.message, want);
    return true;
  });
  assert.equal(received.length, 1);
  await assert.rejects(client.getAgent("agt_1"), { code: "", message: "The server replied with status 418." });
  const unreachable = new Carrel("http://127.0.0.1:1", { attempts: 1 });
  await assert.rejects(unreachable.getAgent("agt_1"), /The server at http:\/\/127\.0\.0\.1:1 can't be reached: .+/);
});

test("Retry-After is honoured, and a pause ends with its signal", async (t) => {
  const { client, received } = await fake(t, (_n, _request, response) => {
    response.setHeader("Retry-After", "3600");
    problem(response, 429, "rate_limited");
  });
  const once = new Carrel(client.server, { attempts: 1 });
  await assert.rejects(once.getAgent("agt_1"), { status: 429, retryAfter: 3_600_000 });
  await assert.rejects(client.getAgent("agt_1", { signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
  assert.ok(received.length <= 2);
});

test("pages are one list", async (t) => {
  const { client, received } = await fake(t, (_n, { url }, response) => {
    const cursor = url.searchParams.get("cursor");
    if (cursor === null) reply(response, { threads: [{ id: "thr_3" }, { id: "thr_2" }], nextCursor: "a b" });
    else if (cursor === "a b") reply(response, { threads: [{ id: "thr_1" }], nextCursor: "end" });
    else problem(response, 400, "invalid_request");
  });
  const ids: string[] = [];
  const read = async () => {
    for await (const thread of client.listThreadsAll("agt 1", { limit: 2 })) ids.push(thread.id);
  };
  await assert.rejects(read(), ApiError);
  assert.deepEqual(ids, ["thr_3", "thr_2", "thr_1"]);
  assert.equal(received[0]?.url.pathname, "/api/agents/agt%201/threads");
  assert.equal(received[0]?.url.searchParams.get("limit"), "2");
  for await (const _thread of client.listThreadsAll("agt_1")) break;
  assert.equal(received.length, 4);
});

test("a refused token is renewed once", async (t) => {
  const handle: Parameters<typeof fake>[1] = (_n, { headers }, response) => {
    if (headers.authorization === "Bearer new") reply(response, { agent: { id: "agt_1" } });
    else problem(response, 401, "invalid_credential");
  };
  let renewals = 0;
  const renewing = await fake(t, handle, {
    token: (rejected) => {
      if (rejected) renewals++;
      return renewals > 0 ? "new" : "old";
    },
  });
  await renewing.client.getAgent("agt_1");
  assert.equal(renewals, 1);
  const revoked = await fake(t, handle, { token: "revoked" });
  await assert.rejects(revoked.client.getAgent("agt_1"), { status: 401 });
  assert.equal(revoked.received.length, 1);
});

test("uploads are repeated with the whole file", async (t) => {
  const { client, received } = await fake(t, (n, _request, response) => {
    if (n === 1) problem(response, 429, "rate_limited");
    else reply(response, { uploads: [{ name: "a.txt" }] });
  });
  const { uploads } = await client.uploadFile("agt_1", "src_1", "a.txt", "A note.");
  assert.equal(uploads[0]?.name, "a.txt");
  assert.match(received[1]?.body ?? "", /filename="a\.txt"[^]*A note\./);
});
