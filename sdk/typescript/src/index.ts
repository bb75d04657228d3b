export { Carrel, type ClientOptions, type Token } from "./client.js";
export { ApiError, CarrelError, ConnectionFailed, SignatureError } from "./errors.js";
export { readEvents, TurnText, type ServerEvent, type TurnEvent } from "./events.js";
export type { CallOptions } from "./request.js";
export type * from "./schema.js";
export { verifyWebhook, type RequestHeaders, type WebhookMessage } from "./webhook.js";
