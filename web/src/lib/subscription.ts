import { date } from './format';
import { m } from './i18n/manage';
import type { components } from './schema';

type Subscription = components['schemas']['Subscription'];

/** Describes the state of a subscription in a sentence. */
export function subscriptionStatus(s: Subscription, now = Date.now()): string {
  const end = s.endsAt && date(s.endsAt);
  switch (s.status) {
    // A subscription that was ended early keeps its original end date.
    case 'ended':
      return end && Date.parse(s.endsAt!) <= now ? m('ended_on', { when: end }) : m('ended');
    case 'past_due':
      return s.live && s.graceUntil ? m('past_due_grace', { when: date(s.graceUntil) }) : m('past_due');
    case 'trial':
      return end ? m('trial_until', { when: end }) : m('trial');
    case 'active':
      if (!end) return m('until_cancelled');
      if (!s.live) return m('ended_on', { when: end });
      // Only paid subscriptions renew automatically.
      return s.source === 'stripe' && !s.cancelAtEnd ? m('renews', { when: end }) : m('ends_on', { when: end });
  }
}
