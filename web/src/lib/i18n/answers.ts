import { textsOf } from './index.svelte';
import { en } from './answers.en';

// A separate catalogue, because the first page needs none of it.

/** Like `t`, for the sources of answers and attached files. */
export const a = textsOf('answers', en);
