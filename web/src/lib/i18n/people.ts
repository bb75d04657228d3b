import { textsOf } from './index.svelte';
import { en, type PeopleKey } from './people.en';

// A separate catalogue, because only administrators open these pages.

/** Like `t`, for people and language models in the administration. */
export const p = textsOf('people', en);

/** The text of an audit event about people, or else the fallback. */
export const eventOr = (event: string, fallback: string): string =>
  `event.${event}` in en ? p(`event.${event}` as PeopleKey) : fallback;
