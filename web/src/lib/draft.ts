import type { CheckedSentence } from './api';
import { verdicts, type Judged } from './sentences';

/** A part of a checked draft: a sentence that states something, or other text. */
export type DraftPart = { text: string; claim?: number };

export type DraftClaim = CheckedSentence & { state: Judged };

/** The sentences that state something, in text order. A sentence that overlaps an earlier one is left out. */
export function draftClaims(sentences: CheckedSentence[]): DraftClaim[] {
  const out: DraftClaim[] = [];
  for (const s of [...sentences].sort((a, b) => a.start - b.start)) {
    if (s.state === 'talk' || s.end <= s.start || s.start < (out.at(-1)?.end ?? 0)) continue;
    out.push({ ...s, state: s.state });
  }
  return out;
}

/** Splits a draft into its claims and the text between them. Offsets are code points. */
export function draftParts(text: string, claims: { start: number; end: number }[]): DraftPart[] {
  const points = Array.from(text);
  const slice = (from: number, to: number) => points.slice(from, to).join('');
  const out: DraftPart[] = [];
  let at = 0;
  claims.forEach((s, claim) => {
    if (s.start > at) out.push({ text: slice(at, s.start) });
    out.push({ text: slice(s.start, s.end), claim });
    at = s.end;
  });
  if (at < points.length) out.push({ text: slice(at, points.length) });
  return out;
}

/** The number of claims by state, in display order and without zeros. */
export const countStates = (claims: DraftClaim[]): [Judged, number][] =>
  verdicts.map((v): [Judged, number] => [v, claims.filter((s) => s.state === v).length]).filter(([, n]) => n > 0);

/**
 * The next claim in a direction whose state is among `states`; all states if it is empty. It returns the current one at
 * the end of the text.
 */
export function nextClaim(claims: DraftClaim[], current: number, step: 1 | -1, states: ReadonlySet<Judged>): number {
  for (let i = current + step; i >= 0 && i < claims.length; i += step)
    if (!states.size || states.has(claims[i]!.state)) return i;
  return current;
}

/** The claim to show first: the first problem, else the first claim. */
export const firstClaim = (claims: DraftClaim[]): number =>
  Math.max(
    0,
    claims.findIndex((s) => s.state === 'contradicted' || s.state === 'unsupported'),
  );
