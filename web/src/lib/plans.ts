import { bytes, money } from './format';
import { m } from './i18n/manage';
import type { components } from './schema';

type Plan = components['schemas']['Plan'];

/** The limits of a plan except the monthly cap; unlimited values are left out. */
export const planLimits = (plan: Plan): string[] =>
  [
    plan.turnCapMicros !== undefined && m('up_to', { money: m('per_answer', { money: money(plan.turnCapMicros) }) }),
    plan.rateLimit !== undefined && m('per_second', { count: plan.rateLimit }),
    plan.storageLimitBytes !== undefined && m('of_storage', { size: bytes(plan.storageLimitBytes) }),
    ...plan.models,
  ].filter((x): x is string => !!x);
