import { textsOf } from './index.svelte';
import { en } from './around.en';

// A separate catalogue, because the first page needs none of it.

/** Like `t`, for the palette, the shortcuts, the settings list and notifications. */
export const o = textsOf('around', en);
