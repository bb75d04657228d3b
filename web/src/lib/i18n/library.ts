import { textsOf } from './index.svelte';
import { en } from './library.en';

// A separate catalogue, because only the page of a source needs it.

/** Like `t`, for documents and uploads. */
export const l = textsOf('library', en);
