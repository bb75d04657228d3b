import { textsOf } from './index.svelte';
import { en } from './share.en';

// A separate catalogue, because the dialogs and pages that need it load on demand.

/** Like `t`, for sharing chats. */
export const s = textsOf('share', en);
