import { ApiError, CarrelError, ConnectionFailed } from "./errors.js";
import { readEvents, turnEvent, type TurnEvent } from "./events.js";
import { Operations } from "./operations.js";
import { segment, sleep, type CallOptions, type Request } from "./request.js";
import type { Message, MessageList, MessageSend, UploadList } from "./schema.js";

/**
 * A token, or a function that returns the token of the next request. Its argument is the token that the server has just
 * refused, if any; to give up, the function returns the same token or throws.
 */
export type Token = string | ((rejected?: string) => string | Promise<string>);

/** Options of a client. */
export interface ClientOptions {
  /** An API key or an OAuth access token. Without it, requests have no credential. */
  token?: Token | undefined;
  /** Sends the requests. Default: the global fetch. */
  fetch?: typeof fetch | undefined;
  /** The number of times a request is sent. Default: 4. */
  attempts?: number | undefined;
  /** The pause in milliseconds before the first retry; it doubles with each. Default: 250. */
  backoff?: number | undefined;
}

/** The maximum pause between two attempts, also if Retry-After is longer. */
const maxBackoff = 30_000;

/**
 * A client of the REST API of a Carrel server. It has a method for each operation, and iterators for lists, for example
 * `listAgents` and `listAgentsAll`. Errors are `ApiError` and `ConnectionFailed`.
 */
export class Carrel extends Operations {
  /** The base URL without a trailing slash. */
  readonly server: string;
  readonly #token: Token | undefined;
  readonly #fetch: typeof fetch;
  readonly #attempts: number;
  readonly #backoff: number;

  constructor(server: string, options: ClientOptions = {}) {
    super();
    this.server = server.replace(/\/+$/, "");
    this.#token = options.token;
    this.#fetch = options.fetch ?? ((...request) => fetch(...request));
    this.#attempts = options.attempts ?? 4;
    this.#backoff = options.backoff ?? 250;
  }

  /**
   * Sends a message and waits for the end of its turn, however long that takes. It returns the reply, which may have the
   * status `failed` or `cancelled`. Without a thread, it creates one.
   */
  async ask(
    agentId: string,
    message: string | MessageSend,
    options: CallOptions & { threadId?: string | undefined } = {},
  ): Promise<Message> {
    const { threadId: existing, ...call } = options;
    const body = typeof message === "string" ? { text: message } : message;
    const threadId = existing ?? (await this.createThread(agentId, {}, { signal: call.signal })).thread.id;
    const sent = await this.sendMessage(agentId, threadId, body, { prefer: "respond-async", ...call });
    return this.awaitTurn(agentId, threadId, sent.turnId, { signal: call.signal });
  }

  /**
   * Polls the messages of a thread until the turn has ended and returns its reply, which may have the status `failed` or
   * `cancelled`.
   */
  async awaitTurn(agentId: string, threadId: string, turnId: string, options: CallOptions = {}): Promise<Message> {
    let etag = "";
    for (;;) {
      const headers = { ...options.headers, ...(etag && { "If-None-Match": etag }) };
      const response = await this.open({
        method: "GET",
        path: `${threadPath(agentId, threadId)}/messages`,
        options: { prefer: "wait=30", ...options, headers }, // the server holds the request until a change
      });
      etag = response.headers.get("ETag") ?? "";
      if (response.status === 304) continue;
      const list = (await response.json()) as MessageList;
      const reply = list.messages.find((message) => message.turnId === turnId && message.role === "assistant");
      if (reply) return reply;
      if (list.status === "complete") {
        throw new ApiError(404, { code: "not_found", detail: "The thread has no reply of this turn." });
      }
    }
  }

  /**
   * Iterates over the events of the latest turn of a thread until it is done. After a lost connection, it continues after
   * the last event. `after` is the id of the last event that the caller has.
   */
  async *streamTurn(
    agentId: string,
    threadId: string,
    options: CallOptions & { after?: string | undefined } = {},
  ): AsyncGenerator<TurnEvent> {
    let { after = "", ...call } = options;
    for (let failures = 1; ; failures++) {
      try {
        const headers = { ...call.headers, Accept: "text/event-stream", ...(after && { "Last-Event-ID": after }) };
        const path = `${threadPath(agentId, threadId)}/events`;
        const response = await this.open({
          method: "GET",
          path,
          query: { until: "done" },
          options: { ...call, headers },
        });
        for await (const received of readEvents(response.body!)) {
          const event = turnEvent(received);
          after = received.id || after;
          failures = 0;
          if (event) yield event;
          if (event?.kind === "done") return;
        }
        throw new ConnectionFailed("The stream ended before the turn was done.");
      } catch (error) {
        call.signal?.throwIfAborted();
        // Requests are retried by open, so that a refusal is final. Other errors are lost connections.
        if (error instanceof ApiError || failures >= this.#attempts) throw error;
        await sleep(Math.min(this.#backoff * 2 ** failures, maxBackoff), call.signal);
      }
    }
  }

  /** Returns all messages of a thread in chronological order. */
  async thread(agentId: string, threadId: string, options: CallOptions = {}): Promise<Message[]> {
    let messages: Message[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.listMessages(agentId, threadId, { limit: 200, cursor }, options);
      messages = [...page.messages, ...messages]; // a page is in order, and the next one is older
      cursor = page.nextCursor;
    } while (cursor);
    return messages;
  }

  /** Uploads a file to a source under a name. In Node.js, `fs.openAsBlob` reads a file without loading it into memory. */
  async uploadFile(
    agentId: string,
    sourceId: string,
    name: string,
    content: Blob | string,
    options: CallOptions = {},
  ): Promise<UploadList> {
    const form = new FormData();
    form.append("file", typeof content === "string" ? new Blob([content]) : content, name);
    const path = `/api/agents/${segment(agentId)}/sources/${segment(sourceId)}/files`;
    return this.call({ method: "POST", path, raw: form, options });
  }

  /**
   * Sends a request to a path of the server with the credential and the retries of the client, for operations without a
   * method, such as the import of a BibTeX file. The options have the Content-Type.
   */
  async send(method: string, path: string, body?: Blob | string, options: CallOptions = {}): Promise<Response> {
    return this.open({ method, path, raw: body, options });
  }

  protected override async call<T>(request: Request): Promise<T> {
    const response = await this.open(request);
    try {
      return (await response.json()) as T;
    } catch (error) {
      request.options?.signal?.throwIfAborted();
      throw new CarrelError("The reply of the server is not complete JSON.", { cause: error });
    }
  }

  protected override async open(request: Request): Promise<Response> {
    const { options = {} } = request;
    const headers = new Headers({ Accept: "application/json, */*;q=0.5" });
    if (request.keyed) headers.set("Idempotency-Key", options.idempotencyKey ?? randomKey());
    if (options.prefer) headers.set("Prefer", options.prefer);
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
    let body = request.raw;
    if (request.body !== undefined) {
      body = JSON.stringify(request.body);
      headers.set("Content-Type", "application/json");
    }
    const url = new URL(this.server + request.path);
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const init: RequestInit = { method: request.method, headers, body: body ?? null, signal: options.signal ?? null };

    let pause = this.#backoff;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#authorized(url, init, headers);
      } catch (error) {
        if (attempt >= this.#attempts || !retryable(request, error)) throw error;
        if (error instanceof ApiError) pause = Math.max(pause, error.retryAfter);
      }
      await sleep(Math.min(pause, maxBackoff), options.signal);
      pause *= 2;
    }
  }

  /** Sends a request once, and a second time with another token if the server refuses the first. */
  async #authorized(url: URL, init: RequestInit, headers: Headers): Promise<Response> {
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    if (token !== undefined) headers.set("Authorization", `Bearer ${token}`);
    try {
      return await this.#attempt(url, init);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401 || typeof this.#token !== "function") throw error;
      const renewed = await this.#token(token);
      if (renewed === token) throw error;
      headers.set("Authorization", `Bearer ${renewed}`);
      return this.#attempt(url, init);
    }
  }

  /** Sends a request once. */
  async #attempt(url: URL, init: RequestInit): Promise<Response> {
    let response: Response;
    try {
      response = await this.#fetch(url, init);
    } catch (error) {
      init.signal?.throwIfAborted();
      const { cause } = error as Error;
      const reason =
        cause instanceof Error ? cause.message || ((cause as { code?: string }).code ?? "") : String(error);
      throw new ConnectionFailed(`The server at ${this.server} can't be reached: ${reason}`, { cause: error });
    }
    if (response.status >= 400) throw await ApiError.read(response);
    return response;
  }
}

/** Returns 128 random bits. Unlike crypto.randomUUID, it also works on pages that are served without TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Reports whether another attempt may succeed and does no harm. */
function retryable(request: Request, error: unknown): boolean {
  const repeatable = request.method === "GET" || request.method === "PUT" || request.keyed === true;
  if (error instanceof ConnectionFailed) return repeatable;
  if (!(error instanceof ApiError)) return false;
  switch (error.status) {
    case 429:
    case 503:
      return true; // the server has not processed the request
    case 502:
    case 504:
      return error.code === "" && repeatable; // from a proxy; the codes of the server are results of the operation
  }
  return error.code === "idempotency_in_progress";
}

function threadPath(agentId: string, threadId: string): string {
  return `/api/agents/${segment(agentId)}/threads/${segment(threadId)}`;
}
