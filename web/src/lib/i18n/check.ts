import { en, type CheckKey } from './check.en';
import { language, textsOf } from './index.svelte';
import type { Claim, Judged } from '../sentences';

// A separate catalogue, because the first page needs none of it.

/** Like `t`, for checked sentences and actions. */
export const c = textsOf('check', en);

type Reasons = { reason?: string; reasonCode?: string };

/** Why a sentence has its verdict. English uses the server's reason, which names the words that differ. */
function reasonOr(s: Reasons, meaning: CheckKey): string {
  if (language() === 'en' && s.reason) return s.reason;
  const key = `reason.${s.reasonCode ?? ''}`;
  return key in en ? c(key as CheckKey) : (s.reason ?? c(meaning));
}

/** Why a claim of an answer has its verdict. */
export const reasonText = (s: Reasons & { verdict: Judged }): string => reasonOr(s, `meaning.${s.verdict}`);

/** Why a claim of a draft has its state. */
export const draftReason = (s: Reasons & { state: Judged }): string => reasonOr(s, `draft_meaning.${s.state}`);

/** Why the model did not judge all sentences of a draft. */
export function incompleteText(i: { code: string; detail: string }): string {
  const key = `incomplete.${i.code}`;
  return language() !== 'en' && key in en ? c(key as CheckKey) : i.detail;
}

/** The verdict and its reason. */
export const verdictText = (s: Claim): string => `${c(`verdict.${s.verdict}`)}: ${reasonText(s)}`;
