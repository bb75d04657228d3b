import { describe, expect, it } from 'vitest';
import { dollars, micros } from './dollars';
import { subscriptionStatus } from './subscription';

const whole = {
  plan: 'reader',
  status: 'active',
  startsAt: '2026-11-01T00:00:00Z',
  endsAt: '2026-12-01T12:00:00Z',
  cancelAtEnd: false,
  live: true,
  source: 'stripe',
} as const;

describe('what is said of a subscription', () => {
  it.each([
    ['one that is paid for is renewed', whole, 'It is renewed on'],
    ['one that is cancelled ends', { ...whole, cancelAtEnd: true }, 'It ends on'],
    ['one that an admin gave ends by itself', { ...whole, source: 'admin' as const }, 'It ends on'],
    ['one without an end goes on', { ...whole, endsAt: undefined }, 'It goes on'],
    ['a trial has a last day', { ...whole, status: 'trial' as const }, 'A trial until'],
    [
      'a payment that failed leaves time',
      { ...whole, status: 'past_due' as const, graceUntil: '2026-12-04T12:00:00Z' },
      'You can go on until',
    ],
    [
      'after the grace the plan is on hold',
      { ...whole, status: 'past_due' as const, live: false, graceUntil: '2026-12-04T12:00:00Z' },
      'on hold',
    ],
    ['one that has run out ended', { ...whole, live: false }, 'It ended on'],
    [
      'one that was ended ended',
      { ...whole, status: 'ended' as const, live: false, endsAt: '2026-11-10T12:00:00Z' },
      'It ended on',
    ],
    ['one that was ended early has no day', { ...whole, status: 'ended' as const, live: false }, 'It has ended.'],
  ])('%s', (_, subscription, want) =>
    expect(subscriptionStatus(subscription, Date.parse('2026-11-15T12:00:00Z'))).toContain(want),
  );
});

describe('a field for dollars', () => {
  it('keeps every cent', () => expect(micros(dollars(1_230_000))).toBe(1_230_000));
  it('is nothing when it is empty, and nought when it is nought', () =>
    expect([micros(null), micros(undefined), micros(0)]).toEqual([undefined, undefined, 0]));
});
