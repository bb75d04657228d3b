import { textsOf } from './index.svelte';
import { en } from './start.en';

// A separate catalogue, because the first page needs none of it.

/** Like `t`, for the first steps with a new agent. */
export const s = textsOf('start', en);
