import { textsOf } from './index.svelte';
import { en } from './reader.en';

// A separate catalogue, because the first page needs none of it.

/** Like `t`, for the reader of documents. */
export const r = textsOf('reader', en);
