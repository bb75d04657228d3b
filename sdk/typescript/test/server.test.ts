import assert from "node:assert/strict";
import { test } from "node:test";
import { Carrel, TurnText } from "../src/index.js";

const { CARREL_TEST_SERVER: server = "", CARREL_TEST_KEY: token = "" } = process.env;
const skip = server === "" && "CARREL_TEST_SERVER is not set; the tests in e2e set it";

test("a program uses a real server with the demo library", { skip }, async () => {
  const carrel = new Carrel(server, { token });
  const create = () => carrel.createAgent({ name: "TypeScript" }, { idempotencyKey: "typescript" });
  const { agent } = await create();
  assert.equal((await create()).agent.id, agent.id);

  let landmarks = "";
  for await (const { id, name } of carrel.listAgentsAll({ limit: 1 })) if (name === "Landmarks") landmarks = id;
  const found = await carrel.search(landmarks, { query: "relational model" });
  assert.equal(found.results[0]?.externalId, "codd-1970");

  const { thread } = await carrel.createThread(landmarks, {});
  const body = { text: "Who proposed the relational model?" };
  const sent = await carrel.sendMessage(landmarks, thread.id, body, { prefer: "respond-async" });
  const text = new TurnText();
  for await (const event of carrel.streamTurn(landmarks, thread.id)) text.apply(event);
  const message = await carrel.awaitTurn(landmarks, thread.id, sent.turnId);
  assert.equal(message.text, String(text));
  assert.ok(message.citations?.length);
  const asked = await carrel.ask(landmarks, "Who invented public key cryptography?", { threadId: thread.id });
  assert.equal(asked.status, "complete");
  assert.deepEqual(
    (await carrel.thread(landmarks, thread.id)).map((m) => m.role),
    ["user", "assistant", "user", "assistant"],
  );
  const exported = await carrel.exportThread(landmarks, thread.id, { format: "markdown" });
  assert.match(await exported.text(), /relational model/);

  const { sources } = await carrel.listSources(agent.id);
  const { uploads } = await carrel.uploadFile(agent.id, sources[0]!.id, "note.md", "# A note\n\nText.");
  assert.equal(uploads[0]?.name, "note.md");

  const bibliography = "@article{codd, title = {A Relational Model}, year = {1970}}";
  const options = { headers: { "Content-Type": "application/x-bibtex" } };
  const imported = await carrel.send("POST", `/api/agents/${agent.id}/favourite-files`, bibliography, options);
  assert.match(await imported.text(), /A Relational Model/);

  await assert.rejects(carrel.getAccount(), { code: "insufficient_scope" });
  await assert.rejects(new Carrel(server, { token: "crl_wrong" }).listAgents(), { status: 401 });
});
