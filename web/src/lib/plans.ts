import { bytes, money } from './format';
import { m } from './i18n/manage';
import type { components } from './schema';

type Plan = components['schemas']['Plan'];
export type Capability = Plan['capabilities'][number];

/** Every capability of the contract, in the order of the pages. The type makes the compiler find a missing one. */
const everyCapability: Record<Capability, true> = {
  search: true,
  chat: true,
  research: true,
  memories: true,
  favourites: true,
  manage: true,
  share: true,
  mcp: true,
};
export const allCapabilities = Object.keys(everyCapability) as Capability[];

/** The limits of a plan except the monthly cap; unlimited values are left out. */
export const planLimits = (plan: Plan): string[] =>
  [
    plan.turnCapMicros !== undefined && m('up_to', { money: m('per_answer', { money: money(plan.turnCapMicros) }) }),
    plan.rateLimit !== undefined && m('per_second', { count: plan.rateLimit }),
    plan.storageLimitBytes !== undefined && m('of_storage', { size: bytes(plan.storageLimitBytes) }),
    ...plan.models,
  ].filter((x): x is string => !!x);
