import type { ServerEvent } from './sse';

export type Step = { n: number; kind: string; label: string; state: 'started' | 'finished' | 'failed' };

/** A turn built from its events. Each part keeps its event id, because `restarted` discards later parts. */
export type LiveTurn = {
  last: string;
  steps: (Step & { id: string })[];
  pieces: { id: string; text: string }[];
  done?: { status: string; messageId: string };
  /** The number of turns ahead in the queue, while the turn waits. */
  ahead?: number;
};

export const newTurn = (): LiveTurn => ({ last: '', steps: [], pieces: [] });

/** Compares event ids of the form `<turn>.<number>`. */
export function compareIds(a: string, b: string): number {
  const [at = 0, an = 0] = a.split('.').map(Number);
  const [bt = 0, bn = 0] = b.split('.').map(Number);
  return at - bt || an - bn;
}

export const textOf = (turn: LiveTurn): string => turn.pieces.map((p) => p.text).join('');

/** Applies an event. Events that were applied before are ignored, so a stream may be replayed after a reconnect. */
export function apply(turn: LiveTurn, e: ServerEvent): LiveTurn {
  const data: unknown = JSON.parse(e.data);
  if (e.event === 'queued') return { ...turn, ahead: (data as { position: number }).position }; // it has no id
  if (turn.last && compareIds(e.id, turn.last) <= 0) return turn;
  const next = { ...turn, last: e.id, ahead: undefined };
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
