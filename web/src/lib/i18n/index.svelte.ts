import type { ApiError } from '../api';
import { recall, remember } from '../prefs.svelte';
import { en, type Key, type Text } from './en';

/** The languages that have a whole catalogue, by their own names. A new one is a file and a row here. */
export const languages = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof languages;

const catalogues: Record<Language, () => Promise<Record<Key, Text>>> = {
  en: async () => en,
  de: async () => (await import('./de')).de,
};

class Speech {
  now = $state.raw<{ language: Language; locale: string; texts: Record<Key, Text> }>({
    language: 'en',
    locale: 'en',
    texts: en,
  });
}
const state = new Speech();

const isLanguage = (s: string): s is Language => s in languages;

/** The language that was chosen, or the first of the browser's that we have. */
export function preferred(wanted: readonly string[] = navigator.languages): Language {
  const chosen = recall('language');
  if (chosen && isLanguage(chosen)) return chosen;
  for (const tag of wanted) {
    const short = tag.split('-')[0] ?? '';
    if (isLanguage(short)) return short;
  }
  return 'en';
}

/** Shows the app in a language. Dates and numbers follow the reader's own locale of that language, where they have one. */
export async function speak(language: Language, keep = false): Promise<void> {
  const texts = await catalogues[language]();
  if (keep) remember('language', language);
  const locale = navigator.languages.find((tag) => tag.split('-')[0] === language) ?? language;
  state.now = { language, locale, texts };
  document.documentElement.lang = language;
}

export const language = (): Language => state.now.language;
export const locale = (): string => state.now.locale;

/** A text of the catalogue. */
export const t = (key: Key, values?: Record<string, string | number>): string => say(state.now.texts[key], values);

/** Fills a text in: `{name}` is replaced by its value, and a text with forms takes the one for `count`. */
export function say(entry: Text, values: Record<string, string | number> = {}): string {
  const form =
    typeof entry === 'string'
      ? entry
      : (entry[new Intl.PluralRules(state.now.locale).select(Number(values.count)) as 'one' | 'other'] ?? entry.other);
  return form.replace(/\{(\w+)\}/g, (_, name: string) => {
    const v = values[name];
    return typeof v === 'number' ? new Intl.NumberFormat(state.now.locale).format(v) : (v ?? '');
  });
}

/** Whether the catalogue has this key: some are made of the server's words. */
const has = (key: string): key is Key => key in state.now.texts;

/** A text for a word of the server, or what the server says itself. */
export const named = (prefix: string, word: string, fallback: string): string =>
  has(`${prefix}.${word}`) ? t(`${prefix}.${word}` as Key) : fallback;

/** What went wrong, in the reader's words. The server's own sentence is better where it is about this very request. */
export function problem(e: ApiError): string {
  return state.now.language === 'en' && e.code !== 'offline' ? e.message : named('problem', e.code, e.message);
}
