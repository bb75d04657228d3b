import { describe, expect, it } from 'vitest';
import { dollars, micros } from './dollars';
import { subscriptionStatus } from './subscription';

const active = {
  plan: 'reader',
  status: 'active',
  startsAt: '2026-11-01T00:00:00Z',
  endsAt: '2026-12-01T12:00:00Z',
  cancelAtEnd: false,
  live: true,
  source: 'stripe',
} as const;

describe('subscriptionStatus', () => {
  it.each([
    ['a paid subscription renews', active, 'Renews on'],
    ['a cancelled subscription ends', { ...active, cancelAtEnd: true }, 'Ends on'],
    ['a subscription assigned by an admin ends', { ...active, source: 'admin' as const }, 'Ends on'],
    [
      'a subscription without an end date is active until cancelled',
      { ...active, endsAt: undefined },
      'Active until cancelled',
    ],
    ['a trial has an end date', { ...active, status: 'trial' as const }, 'Trial until'],
    [
      'a failed payment has a grace period',
      { ...active, status: 'past_due' as const, graceUntil: '2026-12-04T12:00:00Z' },
      'Update your payment by',
    ],
    [
      'the plan is paused after the grace period',
      { ...active, status: 'past_due' as const, live: false, graceUntil: '2026-12-04T12:00:00Z' },
      'paused',
    ],
    ['an expired subscription has ended', { ...active, live: false }, 'Ended on'],
    [
      'an ended subscription shows its end date',
      { ...active, status: 'ended' as const, live: false, endsAt: '2026-11-10T12:00:00Z' },
      'Ended on',
    ],
    ['a subscription ended early shows no date', { ...active, status: 'ended' as const, live: false }, 'Ended.'],
  ])('%s', (_, subscription, want) =>
    expect(subscriptionStatus(subscription, Date.parse('2026-11-15T12:00:00Z'))).toContain(want),
  );
});

describe('dollar inputs', () => {
  it('keep every cent', () => expect(micros(dollars(1_230_000))).toBe(1_230_000));
  it('distinguish empty from zero', () =>
    expect([micros(null), micros(undefined), micros(0)]).toEqual([undefined, undefined, 0]));
});
