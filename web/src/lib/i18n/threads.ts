import { textsOf } from './index.svelte';
import { en } from './threads.en';

// A separate catalogue, because the first paint of the chat page needs none of it.

/** Like `t`, for the tools of the chat list. */
export const c = textsOf('threads', en);
