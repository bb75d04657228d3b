import type { Message, Sentence, Verdict } from './api';

/** Verdicts in display order. `talk` states nothing and is never shown. */
export const verdicts = [
  'quoted',
  'supported',
  'memory',
  'cited',
  'uncited',
  'unsupported',
  'contradicted',
] as const satisfies Verdict[];

export type Judged = (typeof verdicts)[number];

/** A sentence that states something. */
export type Claim = Sentence & { verdict: Judged };

/** Signs of the verdicts. Each differs in shape, so that it is understood without colour. */
export const signs: Record<Judged, string> = {
  quoted: '”',
  supported: '✓',
  memory: '•',
  cited: '○',
  uncited: '∅',
  unsupported: '?',
  contradicted: '≠',
};

const problems = new Set<Judged>(['contradicted', 'unsupported', 'uncited']);

export const isProblem = (v: Judged): boolean => problems.has(v);

/** Which sentences are marked in the text of an answer. */
export type Marking = 'problems' | 'all' | 'none';

export const isMarked = (v: Judged, marking: Marking): boolean =>
  marking === 'all' || (marking === 'problems' && isProblem(v));

const isClaim = (s: Sentence): s is Claim => s.verdict !== 'talk';

/** The claims of a reply in text order. Replies of earlier versions have only `checks`. */
export function claimsOf(m: Pick<Message, 'sentences' | 'checks'>): Claim[] {
  const all: Sentence[] = m.sentences ?? m.checks?.map((c) => ({ ...c, verdict: c.verdict ?? c.state })) ?? [];
  return all.filter(isClaim).sort((a, b) => a.start - b.start || a.end - b.end);
}

/** The number of sentences by verdict, in display order and without zeros. */
export function countVerdicts(list: { verdict: Judged }[]): [Judged, number][] {
  return verdicts
    .map((v): [Judged, number] => [v, list.filter((s) => s.verdict === v).length])
    .filter(([, n]) => n > 0);
}

/** The words of a sentence without Markdown and citation marks, for lists. */
export const plainWords = (markdown: string): string =>
  markdown
    .replace(/\s*\[\d{1,3}\](?!\()/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s*(?:#{1,6}|>|[-*+]|\d+[.)])\s+/gm, '')
    .replace(/^\s*\|\s*|\s*\|\s*$/gm, '')
    .replace(/\s*\|\s*/g, ' · ')
    .replace(/(\*\*|__|`)(.+?)\1/gs, '$2')
    .replace(/(?<!\w)([*_])(\S(?:.*?\S)?)\1(?!\w)/gs, '$2')
    .replace(/\s+/g, ' ')
    .trim();

/** Where the last word of a text starts, or the end of the text if the word may not fit on a line. */
export function lastWord(text: string): number {
  const start = text.trimEnd().search(/\S+$/);
  return start < 0 || text.length - start > 30 ? text.length : start;
}
