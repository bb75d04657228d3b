import { locale, t } from './i18n/index.svelte';

const DAY = 86_400_000;

export const dateTime = (iso: string): string =>
  new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(iso));

export const date = (iso: string): string =>
  new Intl.DateTimeFormat(locale(), { dateStyle: 'medium' }).format(new Date(iso));

export const number = (n: number): string => new Intl.NumberFormat(locale()).format(n);

export const percent = (n: number): string => new Intl.NumberFormat(locale(), { style: 'percent' }).format(n);

/** Joins the parts that are not empty: "a · b". In markup, Svelte would trim the space at the start of an {#if}. */
export const dotted = (...parts: (string | number | false | null | undefined)[]): string =>
  parts.filter((part) => part || part === 0).join(' · ');

/** A relative time such as "3 hours ago", or the date after a month. */
export function ago(iso: string | null | undefined, now = Date.now()): string {
  if (!iso) return t('never');
  const seconds = (Date.parse(iso) - now) / 1000;
  const size = Math.abs(seconds);
  const f = new Intl.RelativeTimeFormat(locale(), { numeric: 'auto' });
  if (size < 60) return t('just_now');
  if (size < 3600) return f.format(Math.round(seconds / 60), 'minute');
  if (size < DAY / 1000) return f.format(Math.round(seconds / 3600), 'hour');
  if (size < (30 * DAY) / 1000) return f.format(Math.round((seconds * 1000) / DAY), 'day');
  return date(iso);
}

/** The time until a date: "in 27 days". */
export function until(iso: string, now = Date.now()): string {
  const minutes = Math.max(1, Math.round((Date.parse(iso) - now) / 60_000));
  const f = new Intl.RelativeTimeFormat(locale());
  if (minutes < 60) return f.format(minutes, 'minute');
  if (minutes < 48 * 60) return f.format(Math.round(minutes / 60), 'hour');
  return f.format(Math.round(minutes / 1440), 'day');
}

/** A duration in its largest whole unit: "6 hours". */
export function duration(minutes: number): string {
  const [n, unit] =
    minutes % 10_080 === 0
      ? [minutes / 10_080, 'week']
      : minutes % 1440 === 0
        ? [minutes / 1440, 'day']
        : minutes % 60 === 0
          ? [minutes / 60, 'hour']
          : [minutes, 'minute'];
  return new Intl.NumberFormat(locale(), { style: 'unit', unit: unit as string, unitDisplay: 'long' }).format(
    n as number,
  );
}

/** The heading of a group of chats: the day within the last week, else the month. */
export function dayHeading(iso: string, now = Date.now()): string {
  const midnight = new Date(now);
  midnight.setHours(0, 0, 0, 0);
  const days = Math.ceil((midnight.getTime() - Date.parse(iso)) / DAY);
  if (days <= 0) return t('today');
  if (days === 1) return t('yesterday');
  if (days <= 7) return t('last_week');
  return new Intl.DateTimeFormat(locale(), { month: 'long', year: 'numeric' }).format(new Date(iso));
}

/** Formats millionths of a dollar. Amounts under 10 cents get four digits, so a cheap turn is not $0.00. */
export function money(micros: number): string {
  const dollars = micros / 1e6;
  return new Intl.NumberFormat(locale(), {
    style: 'currency',
    currency: 'USD',
    maximumFractionDigits: dollars !== 0 && dollars < 0.1 ? 4 : 2,
  }).format(dollars);
}

/** Up to four authors, else the first and the number of others. */
export function authors(names: readonly string[]): string {
  if (names.length > 4) return t('authors_more', { first: names[0] ?? '', count: names.length - 1 });
  return new Intl.ListFormat(locale(), { type: 'conjunction' }).format(names);
}

export function bytes(n: number): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const;
  const i = n < 1000 ? 0 : Math.min(3, Math.floor(Math.log10(n) / 3));
  return new Intl.NumberFormat(locale(), {
    style: 'unit',
    unit: units[i],
    unitDisplay: i ? 'short' : 'long',
    maximumFractionDigits: i ? 1 : 0,
  }).format(n / 1000 ** i);
}
