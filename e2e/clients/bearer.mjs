// Preloaded into programs that have no option for a header: every request to CARREL_URL carries CARREL_TOKEN.
import http from 'node:http';

import { getGlobalDispatcher, setGlobalDispatcher } from 'undici';

const { CARREL_URL: base, CARREL_TOKEN: token } = process.env;
const ours = new URL(base).origin;

const plainFetch = globalThis.fetch;
globalThis.fetch = (input, init = {}) => {
  const url = new URL(input instanceof Request ? input.url : input);
  if (url.origin !== ours) return plainFetch(input, init);
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
  if (!headers.has('authorization')) headers.set('authorization', `Bearer ${token}`);
  return plainFetch(input, { ...init, headers });
};

// What is not fetched is requested, with its headers as an object. A forged Host is sent to us all the same.
setGlobalDispatcher(
  getGlobalDispatcher().compose((dispatch) => (options, handler) => {
    const plain = options.headers && !Array.isArray(options.headers) && typeof options.headers[Symbol.iterator] !== 'function';
    if (String(options.origin) === ours && plain && !('authorization' in options.headers)) {
      options = { ...options, headers: { ...options.headers, authorization: `Bearer ${token}` } };
    }
    return dispatch(options, handler);
  }),
);

// The oldest way comes with a URL or with options; what counts is the port that it goes to.
const plainRequest = http.request;
http.request = (...args) => {
  const request = plainRequest(...args);
  const ports = args.map((a) => (typeof a === 'string' ? new URL(a).port : String(a?.port ?? '')));
  if (ports.includes(new URL(base).port) && !request.hasHeader('authorization')) {
    request.setHeader('authorization', `Bearer ${token}`);
  }
  return request;
};
