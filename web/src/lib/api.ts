import createClient from 'openapi-fetch';
import { base } from './base';
import type { components, paths } from './schema';
import { stepUp } from './stepUp.svelte';

type Schemas = components['schemas'];
export type Agent = Schemas['Agent'];
export type AgentSource = Schemas['AgentSource'];
export type BinItem = Schemas['BinItem'];
export type BinKind = Schemas['BinKind'];
export type Card = Schemas['Card'];
export type CheckedSentence = Schemas['CheckedSentence'];
export type CheckReply = Schemas['CheckTextReply'];
export type Citation = Schemas['Citation'];
export type Document = Schemas['Document'];
export type Evidence = Schemas['Evidence'];
export type Favourite = Schemas['Favourite'];
export type Memory = Schemas['Memory'];
export type Message = Schemas['Message'];
export type MessageList = Schemas['MessageList'];
export type MessageAction = Schemas['Action'];
export type SearchReply = Schemas['SearchReply'];
export type Sentence = Schemas['Sentence'];
export type Thread = Schemas['Thread'];
export type ThreadChange = Schemas['ThreadChange'];
export type Verdict = Schemas['Verdict'];

/** A failed API call: a problem detail of the server, or `offline`. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    detail: string,
    readonly status: number,
    readonly requestId = '',
    readonly fields: { pointer: string; detail: string }[] = [],
    /** Seconds to wait before a retry; 0 if the server named none. */
    readonly retryAfter = 0,
  ) {
    super(detail);
    this.name = 'ApiError';
  }
}

/** Leaves the app for a page of the server. Tests replace it. */
export const navigation = { leave: (to: string) => location.assign(to) };

const returnPath = () => encodeURIComponent(location.pathname.slice(base.length) + location.search);

/** Redirects to sign-in if the error requires it. */
export function redirectFor(e: ApiError): void {
  if (e.status === 401) navigation.leave(`${base}/sign-in?return=${returnPath()}`);
}

/** Reads the problem detail of an error response. */
export async function errorFrom(response: Response): Promise<ApiError> {
  const id = response.headers.get('X-Request-Id') ?? '';
  const retryAfter = Number(response.headers.get('Retry-After')) || 0;
  try {
    const p = (await response.clone().json()) as Schemas['Problem'];
    return new ApiError(p.code, p.detail, response.status, p.requestId ?? id, p.errors, retryAfter);
  } catch {
    // An error page of a proxy.
    return new ApiError('internal', response.statusText, response.status, id, [], retryAfter);
  }
}

/**
 * fetch with the session cookie. It throws an ApiError for every response but 2xx and 304. A request that needs a proof
 * of identity is sent again after the user has confirmed it.
 */
export async function call(request: RequestInfo, init?: RequestInit): Promise<Response> {
  const again = request instanceof Request ? request.clone() : request; // the body of a Request is read once
  let response: Response;
  try {
    response = await globalThis.fetch(request, init);
  } catch (e) {
    if ((e as Error).name === 'AbortError') throw e;
    throw new ApiError('offline', 'The server could not be reached.', 0);
  }
  if (response.ok || response.status === 304) return response;
  const e = await errorFrom(response);
  if (e.code === 'step_up_required' && (await stepUp.confirm())) return call(again, init);
  redirectFor(e);
  throw e;
}

/** The typed API client. Error responses are thrown as ApiError. */
export const api = createClient<paths>({
  baseUrl: (globalThis.location?.origin ?? 'http://localhost') + base,
  fetch: call,
});

/** Returns the body of a successful call. */
export async function body<T>(answer: Promise<{ data?: T }>): Promise<NonNullable<T>> {
  return (await answer).data as NonNullable<T>;
}

/** A header that makes a POST safe to retry. */
export const idempotencyKey = (): { 'Idempotency-Key': string } => ({ 'Idempotency-Key': crypto.randomUUID() });
