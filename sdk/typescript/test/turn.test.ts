import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, ConnectionFailed, readEvents, TurnText } from "../src/index.js";
import { fake, problem, reply } from "./fake.js";

test("an interrupted stream continues after its last event", async (t) => {
  const pieces: Record<string, string> = {
    "":
      ': comment\n\nevent: queued\ndata: {"position":2}\n\n' +
      'id: 1.1\nevent: step\ndata: {"n":1,"kind":"search","label":"Searching","state":"started"}\n\n' +
      'id: 1.2\nevent: delta\ndata: {"text":"Hello "}\n\nid: 1.3\nevent: delta\ndata: {"te', // cut off
    "1.2":
      'id: 1.3\nevent: delta\ndata: {"text":"wrld"}\n\n' +
      'id: 1.4\nevent: restarted\ndata: {"discardAfter":"1.2"}\n\n',
    "1.4":
      'id: 1.5\nevent: delta\ndata: {"text":"wörld"}\n\n' +
      'id: 1.6\nevent: done\ndata: {"status":"complete","messageId":"msg_1"}\n\n',
  };
  const { client, received } = await fake(t, (n, { headers }, response) => {
    if (n === 2) return problem(response, 503, "unavailable"); // the node restarts
    response.setHeader("Content-Type", "text/event-stream");
    response.end(pieces[headers["last-event-id"]?.toString() ?? ""]);
  });
  const text = new TurnText();
  const kinds: string[] = [];
  for await (const event of client.streamTurn("agt_1", "thr_1")) {
    kinds.push(event.kind);
    assert.equal(text.apply(event), event.kind === "restarted");
    if (event.kind === "step") assert.equal(event.step.label, "Searching");
    if (event.kind === "done") assert.equal(event.messageId, "msg_1");
  }
  assert.equal(String(text), "Hello wörld");
  assert.deepEqual(kinds, ["queued", "step", "delta", "delta", "restarted", "delta", "done"]);
  assert.equal(received.length, 4);
  assert.equal(received[0]?.url.searchParams.get("until"), "done");
});

test("a stream that never continues ends with an error", async (t) => {
  const read = async (client: Awaited<ReturnType<typeof fake>>["client"]) => {
    for await (const _event of client.streamTurn("agt_1", "thr_1"));
  };
  const silent = await fake(t, (_n, _request, response) => response.end());
  await assert.rejects(read(silent.client), ConnectionFailed);
  assert.equal(silent.received.length, 4);
  const refusing = await fake(t, (_n, _request, response) => problem(response, 404, "not_found"));
  await assert.rejects(read(refusing.client), ApiError);
  assert.equal(refusing.received.length, 1);
});

test("events are read across chunks and line endings", async () => {
  const bytes = new TextEncoder().encode("id: 1\r\nevent: delta\r\ndata: ä\r\ndata:b\r\n\r\n:\n\ndata: c\n\n");
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const events = [];
  for await (const event of readEvents(body)) events.push(event);
  assert.deepEqual(events, [
    { id: "1", kind: "delta", data: "ä\nb" },
    { id: "", kind: "", data: "c" },
  ]);
});

test("a turn is polled until it has a reply", async (t) => {
  const { client, received } = await fake(t, (n, { headers }, response) => {
    const user = { role: "user", turnId: "trn_1" };
    response.setHeader("ETag", '"1"');
    if (headers.prefer !== "wait=30") {
      problem(response, 400, "invalid_request");
    } else if (n === 1) {
      reply(response, { status: "working", messages: [user] });
    } else if (n === 2 && headers["if-none-match"] === '"1"') {
      response.statusCode = 304;
      response.end();
    } else {
      const message = { id: "msg_2", role: "assistant", turnId: "trn_1", status: "failed" };
      reply(response, { status: "complete", messages: [user, message] });
    }
  });
  const message = await client.awaitTurn("agt_1", "thr_1", "trn_1");
  assert.equal(message.status, "failed");
  assert.equal(received.length, 3);
  await assert.rejects(client.awaitTurn("agt_1", "thr_1", "trn_other"), { code: "not_found" });
});
