import { date } from './format';
import { m } from './i18n/manage';
import type { components } from './schema';

type Subscription = components['schemas']['Subscription'];

/** What a subscription is now, as a sentence: a trial, past due with grace, cancelled at its end, renewed. */
export function standing(s: Subscription, now = Date.now()): string {
  const end = s.endsAt && date(s.endsAt);
  switch (s.status) {
    // One that was ended early still has the end that it was meant to have.
    case 'ended':
      return end && Date.parse(s.endsAt!) <= now ? m('ended_on', { when: end }) : m('ended');
    case 'past_due':
      return s.live && s.graceUntil ? m('past_due_grace', { when: date(s.graceUntil) }) : m('past_due');
    case 'trial':
      return end ? m('trial_until', { when: end }) : m('trial');
    case 'active':
      if (!end) return m('goes_on');
      if (!s.live) return m('ended_on', { when: end });
      // Only what is paid for is renewed by itself.
      return s.source === 'stripe' && !s.cancelAtEnd ? m('renews', { when: end }) : m('ends_on', { when: end });
  }
}
