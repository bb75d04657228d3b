import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { Carrel, type ClientOptions } from "../src/index.js";

/** A request that the fake server has received. */
export interface Received {
  method: string;
  url: URL;
  headers: IncomingMessage["headers"];
  body: string;
}

/** A server whose replies a test chooses. */
export interface Fake {
  client: Carrel;
  received: Received[];
}

/** Starts a server for a test. The handler gets the number of the request, from 1. Retries have no pauses. */
export async function fake(
  t: TestContext,
  handle: (n: number, request: Received, response: ServerResponse) => void,
  options: ClientOptions = {},
): Promise<Fake> {
  const received: Received[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const request = {
      method: incoming.method ?? "",
      url: new URL(incoming.url ?? "", "http://localhost"),
      headers: incoming.headers,
      body: Buffer.concat(chunks).toString(),
    };
    handle(received.push(request), request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { client: new Carrel(`http://127.0.0.1:${port}/`, { backoff: 0, ...options }), received };
}

export function reply(response: ServerResponse, value: unknown): void {
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(value));
}

export function problem(response: ServerResponse, status: number, code: string): void {
  response.statusCode = status;
  response.setHeader("Content-Type", "application/problem+json");
  const errors = [{ pointer: "/name", detail: "Must not be empty." }];
  response.end(JSON.stringify({ status, code, detail: `Detail of ${code}.`, requestId: "req_1", errors }));
}
