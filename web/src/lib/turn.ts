import type { ServerEvent } from './sse';

export type Step = { n: number; kind: string; label: string; state: 'started' | 'finished' | 'failed' };

/** A turn as its events tell it. Each part knows which event it came with, because a restart takes parts back. */
export type LiveTurn = {
  last: string;
  steps: (Step & { id: string })[];
  pieces: { id: string; text: string }[];
  done?: { status: string; messageId: string };
};

export const newTurn = (): LiveTurn => ({ last: '', steps: [], pieces: [] });

/** Compares ids of events, `<turn>.<number>`. */
export function compareIds(a: string, b: string): number {
  const [at = 0, an = 0] = a.split('.').map(Number);
  const [bt = 0, bn = 0] = b.split('.').map(Number);
  return at - bt || an - bn;
}

/** What the reply is so far. */
export const textOf = (turn: LiveTurn): string => turn.pieces.map((p) => p.text).join('');

/** The turn after one more event: the same live, after a dropped line and after a reload. An event that was seen changes nothing. */
export function apply(turn: LiveTurn, e: ServerEvent): LiveTurn {
  if (turn.last && compareIds(e.id, turn.last) <= 0) return turn;
  const next = { ...turn, last: e.id };
  const data: unknown = JSON.parse(e.data);
  switch (e.event) {
    case 'step': {
      const step = data as Step;
      next.steps = [...turn.steps.filter((s) => s.n !== step.n), { ...step, id: e.id }].sort((a, b) => a.n - b.n);
      return next;
    }
    case 'delta':
      next.pieces = [...turn.pieces, { id: e.id, text: (data as { text: string }).text }];
      return next;
    case 'restarted': {
      const kept = (data as { discardAfter: string }).discardAfter;
      next.steps = turn.steps.filter((s) => compareIds(s.id, kept) <= 0);
      next.pieces = turn.pieces.filter((p) => compareIds(p.id, kept) <= 0);
      return next;
    }
    case 'done':
      next.done = data as LiveTurn['done'];
      return next;
    default:
      return next;
  }
}
