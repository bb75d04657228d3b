import createClient from 'openapi-fetch';
import { base } from './base';
import type { components, paths } from './schema';

type Schemas = components['schemas'];
export type Agent = Schemas['Agent'];
export type AgentSource = Schemas['AgentSource'];
export type Card = Schemas['Card'];
export type Citation = Schemas['Citation'];
export type Document = Schemas['Document'];
export type Favourite = Schemas['Favourite'];
export type Memory = Schemas['Memory'];
export type Message = Schemas['Message'];
export type MessageList = Schemas['MessageList'];
export type SearchReply = Schemas['SearchReply'];
export type Thread = Schemas['Thread'];

/** Why a call failed: the server's problem, or that it could not be reached. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    detail: string,
    readonly status: number,
    readonly requestId = '',
    readonly fields: { pointer: string; detail: string }[] = [],
  ) {
    super(detail);
    this.name = 'ApiError';
  }
}

/** Where the browser is sent when the server wants to know who is there. Replaced in tests. */
export const door = { go: (to: string) => location.assign(to) };

const here = () => encodeURIComponent(location.pathname.slice(base.length) + location.search);

/** A failure that the reader can only mend on another page leads there. */
function leave(e: ApiError): void {
  if (e.status === 401) door.go(`${base}/sign-in?return=${here()}`);
  if (e.code === 'step_up_required') door.go(`${base}/step-up?return=${here()}`);
}

/** Reads what went wrong from a reply that is not 2xx. */
export async function failure(response: Response): Promise<ApiError> {
  const id = response.headers.get('X-Request-Id') ?? '';
  try {
    const p = (await response.clone().json()) as Schemas['Problem'];
    return new ApiError(p.code, p.detail, response.status, p.requestId ?? id, p.errors);
  } catch {
    return new ApiError('internal', response.statusText, response.status, id); // a proxy's page
  }
}

/** Calls a path of the API, with the session's cookie, and fails with an ApiError. */
export async function call(request: RequestInfo, init?: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await globalThis.fetch(request, init);
  } catch (e) {
    if ((e as Error).name === 'AbortError') throw e;
    throw new ApiError('offline', 'The server could not be reached.', 0);
  }
  if (response.ok || response.status === 304) return response;
  const e = await failure(response);
  leave(e);
  throw e;
}

/** The API of the contract, typed. Replies are those of success: all else is thrown. */
export const api = createClient<paths>({
  baseUrl: (globalThis.location?.origin ?? 'http://localhost') + base,
  fetch: call,
});

/** Gives the body of a call that did not throw. */
export async function body<T>(answer: Promise<{ data?: T }>): Promise<NonNullable<T>> {
  return (await answer).data as NonNullable<T>;
}

/** A key for a request that may be sent twice and must count once. */
export const once = (): { 'Idempotency-Key': string } => ({ 'Idempotency-Key': crypto.randomUUID() });
