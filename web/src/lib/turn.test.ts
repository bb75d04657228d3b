import { describe, expect, it } from 'vitest';
import { EventParser } from './sse';
import { apply, compareIds, newTurn, textOf, type LiveTurn } from './turn';

const event = (id: string, event: string, data: unknown) => ({ id, event, data: JSON.stringify(data) });
const delta = (id: string, text: string) => event(id, 'delta', { text });
const step = (id: string, n: number, state: string) =>
  event(id, 'step', { n, kind: 'search', label: 'Searching', state });
const run = (...events: ReturnType<typeof event>[]): LiveTurn => events.reduce(apply, newTurn());

describe('a turn', () => {
  it('collects text and steps', () => {
    const turn = run(step('1.1', 1, 'started'), delta('1.2', 'He'), delta('1.3', 'llo'), step('1.4', 1, 'finished'));
    expect(textOf(turn)).toBe('Hello');
    expect(turn.steps).toMatchObject([{ n: 1, state: 'finished' }]);
  });
  it('applies a repeated event once', () => {
    expect(textOf(run(delta('1.1', 'a'), delta('1.2', 'b'), delta('1.1', 'a'), delta('1.2', 'b')))).toBe('ab');
  });
  it('discards parts after the restart point', () => {
    const turn = run(
      step('1.1', 1, 'finished'),
      delta('1.2', 'kept'),
      step('1.3', 2, 'started'),
      delta('1.9', ' gone'),
      delta('1.10', ' too'),
      event('1.11', 'restarted', { discardAfter: '1.2' }),
      delta('1.12', ' and new'),
    );
    expect(textOf(turn)).toBe('kept and new');
    expect(turn.steps.map((s) => s.n)).toEqual([1]);
  });
  it('waits until the first event after its place in the queue', () => {
    const queued = (position: number) => event('', 'queued', { position });
    const turn = run(step('1.1', 1, 'finished'), queued(2), queued(1));
    expect(turn).toMatchObject({ last: '1.1', ahead: 1 });
    expect(apply(turn, delta('1.2', 'a')).ahead).toBeUndefined();
  });
  it('is done after the done event', () => {
    expect(run(event('2.1', 'done', { status: 'complete', messageId: 'm' })).done).toEqual({
      status: 'complete',
      messageId: 'm',
    });
  });
  it('compares event ids numerically', () => {
    expect(['1.10', '1.9', '2.1', '1.1'].sort(compareIds)).toEqual(['1.1', '1.9', '1.10', '2.1']);
  });
});

describe('EventParser', () => {
  const text = ': connected\n\nid: 1.1\nevent: delta\ndata: {"text":"a: b"}\n\nid: 1.2\nevent: done\ndata: {}\n\n';
  it('parses events across chunk boundaries', () => {
    const whole = new EventParser().feed(text);
    expect(whole).toEqual([
      { id: '1.1', event: 'delta', data: '{"text":"a: b"}' },
      { id: '1.2', event: 'done', data: '{}' },
    ]);
    for (let size = 1; size < 9; size++) {
      const parser = new EventParser();
      const got = [];
      for (let i = 0; i < text.length; i += size) got.push(...parser.feed(text.slice(i, i + size)));
      expect(got).toEqual(whole);
    }
  });
});
