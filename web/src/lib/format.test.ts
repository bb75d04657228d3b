import { expect, it } from 'vitest';
import { until } from './format';

it.each([
  ['2026-11-18T12:00:30Z', 'in 1 minute'],
  ['2026-11-18T11:00:00Z', 'in 1 minute'], // it expired, but was not removed yet
  ['2026-11-18T15:10:00Z', 'in 3 hours'],
  ['2026-11-19T13:00:00Z', 'in 25 hours'],
  ['2026-12-15T11:59:00Z', 'in 27 days'],
  ['2027-02-16T12:00:00Z', 'in 90 days'],
])('%s is %s', (iso, want) => expect(until(iso, Date.parse('2026-11-18T12:00:00Z'))).toBe(want));
