import type { DeltaEvent, QueuedEvent, RestartedEvent, StepEvent, TurnDone } from "./schema.js";

/** One event of a stream of server-sent events. Without an id line, the id is empty. */
export interface ServerEvent {
  id: string;
  kind: string;
  data: string;
}

/** An event of a turn. The id continues a stream after this event; the one of `queued` is empty. */
export type TurnEvent = { id: string } & (
  | ({ kind: "queued" } & QueuedEvent)
  | { kind: "step"; step: StepEvent }
  | ({ kind: "delta" } & DeltaEvent)
  | ({ kind: "restarted" } & RestartedEvent)
  | ({ kind: "done" } & TurnDone)
);

/** Iterates over the events of a body. Comments are skipped, and so is an event that the end of the body cuts off. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let rest = "";
  let event: ServerEvent = { id: "", kind: "", data: "" };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const raw of lines) {
        const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
        if (line !== "") {
          addLine(event, line);
          continue;
        }
        const complete = event;
        event = { id: "", kind: "", data: "" };
        if (complete.data !== "") yield complete;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined); // the connection may be lost already
  }
}

/** Adds a line of a stream to its event. */
function addLine(event: ServerEvent, line: string): void {
  const colon = line.indexOf(":");
  const field = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
  if (field === "id") event.id = value;
  if (field === "event") event.kind = value;
  if (field === "data") event.data += (event.data && "\n") + value;
}

/** Returns the event of a turn, or undefined for a kind that this version does not support. */
export function turnEvent({ id, kind, data }: ServerEvent): TurnEvent | undefined {
  switch (kind) {
    case "step":
      return { id, kind, step: JSON.parse(data) as StepEvent };
    case "queued":
    case "delta":
    case "restarted":
    case "done":
      return { ...(JSON.parse(data) as object), id, kind } as TurnEvent;
    default:
      return undefined;
  }
}

/** The text of a reply after the events so far. */
export class TurnText {
  #pieces: { id: string; text: string }[] = [];

  /** Adds an event. It returns true if earlier text was discarded, because a part of the turn runs again. */
  apply(event: TurnEvent): boolean {
    if (event.kind === "delta") this.#pieces.push(event);
    if (event.kind !== "restarted") return false;
    const before = this.#pieces.length;
    this.#pieces = this.#pieces.filter((piece) => !isAfter(piece.id, event.discardAfter));
    return this.#pieces.length < before;
  }

  toString(): string {
    return this.#pieces.map((piece) => piece.text).join("");
  }
}

/** Reports whether the id a is greater than b. Ids are two numbers with a dot between them. */
function isAfter(a: string, b: string): boolean {
  const [turnA = 0, numberA = 0] = a.split(".").map(Number);
  const [turnB = 0, numberB = 0] = b.split(".").map(Number);
  return turnA > turnB || (turnA === turnB && numberA > numberB);
}
