import type { Thread, ThreadChange } from './api';
import { errorText, t } from './i18n/index.svelte';
import { c } from './i18n/threads';
import { asApiError } from './resource.svelte';
import { threads } from './threads.svelte';
import { show, showError } from './toast.svelte';

/** Changes threads and reports the outcome. If some were changed before a request failed, the report says how many. */
export async function changeThreads(
  list: Thread[],
  change: (x: Thread) => ThreadChange,
  done?: (count: number) => string,
): Promise<void> {
  const failed = await threads.change(list, change);
  if (!failed) {
    if (done) show({ text: done(list.length) });
    return;
  }
  const retry = () => void changeThreads(failed.unchanged, change, done);
  const changed = list.length - failed.unchanged.length;
  if (!changed) return showError(failed.error, retry);
  const error = asApiError(failed.error);
  show({
    text: `${c('changed_some', { done: changed, count: list.length })} ${errorText(error)}`,
    requestId: error.requestId,
    action: { label: t('retry'), run: retry },
  });
}
