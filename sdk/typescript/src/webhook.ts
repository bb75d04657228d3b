import { CarrelError, SignatureError } from "./errors.js";
import type { TurnCompletedMessage, TurnFailedMessage, WebhookTestMessage } from "./schema.js";

/** The body of a webhook request. The id is the same in all deliveries of a message, which may arrive more than once. */
export type WebhookMessage = { id: string } & (TurnCompletedMessage | TurnFailedMessage | WebhookTestMessage);

/** The maximum age of a message, and the tolerated difference of the clocks, in seconds. */
const tolerance = 5 * 60;

/** The headers of a request: of the Fetch API, or of node:http. */
export type RequestHeaders = Headers | Record<string, string | string[] | undefined>;

/**
 * Verifies the signature of a webhook request (Standard Webhooks) and returns its message. The body is the one that was
 * received, before it is parsed. `now` is the time in milliseconds.
 */
export async function verifyWebhook(
  secret: string,
  headers: RequestHeaders,
  body: string | Uint8Array,
  now = Date.now(),
): Promise<WebhookMessage> {
  const key = decode(secret.replace(/^whsec_/, ""));
  if (!key?.length) throw new CarrelError("The secret of the webhook is not whsec_ and base64.");
  const id = header(headers, "webhook-id");
  const stamp = header(headers, "webhook-timestamp");
  if (!id || !/^\d{1,12}$/.test(stamp)) throw new SignatureError("Headers of the webhook are missing.");
  const age = now / 1000 - Number(stamp);
  if (Math.abs(age) > tolerance) throw new SignatureError(`The webhook was sent ${Math.round(age)} seconds ago.`);

  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const signed = new Uint8Array([...new TextEncoder().encode(`${id}.${stamp}.`), ...bytes]);
  const hmac = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  // The header has several signatures while a secret is being replaced.
  for (const part of header(headers, "webhook-signature").split(" ")) {
    const [version, encoded = ""] = part.split(",", 2);
    const signature = decode(encoded);
    if (version === "v1" && signature && (await crypto.subtle.verify("HMAC", hmac, signature, signed))) {
      return { ...(JSON.parse(new TextDecoder().decode(bytes)) as object), id } as WebhookMessage;
    }
  }
  throw new SignatureError("The signature of the webhook is not valid.");
}

function header(headers: RequestHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  return (Array.isArray(value) ? value.join(" ") : value) ?? "";
}

/** Decodes base64. It returns undefined for another text. */
function decode(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
