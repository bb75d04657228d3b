import type { ApiError } from '../api';
import { base } from '../base';
import { recall, remember } from '../prefs.svelte';
import type { Catalogues, Subject } from './catalogues';
import { en, type Key, type Text } from './en';

/** Supported languages. A new language is its catalogue files, a name here and a loader in `catalogues`. */
export const languages = { en: 'English', de: 'Deutsch', es: 'Español', fr: 'Français' } as const;
export type Language = keyof typeof languages;

/** Loads all texts of a language at once. English is absent: each page imports the English texts that it needs. */
const catalogues: Record<Exclude<Language, 'en'>, () => Promise<Catalogues>> = {
  de: () => import('./all.de'),
  es: () => import('./all.es'),
  fr: () => import('./all.fr'),
};

class I18n {
  now = $state.raw<{ language: Language; locale: string; texts?: Catalogues }>({ language: 'en', locale: 'en' });
}
const state = new I18n();

const isLanguage = (s: string): s is Language => s in languages;

/** The chosen language, or else the browser's first supported one. */
export function preferred(wanted: readonly string[] = navigator.languages): Language {
  const chosen = recall('language');
  if (chosen && isLanguage(chosen)) return chosen;
  for (const tag of wanted) {
    const short = tag.split('-')[0] ?? '';
    if (isLanguage(short)) return short;
  }
  return 'en';
}

/**
 * Switches the language and stores it if the user chose it. Dates and numbers use the browser's regional variant, such
 * as en-GB.
 */
export async function setLanguage(language: Language, chosen = false): Promise<void> {
  const texts = language === 'en' ? undefined : await catalogues[language]();
  if (chosen) remember('language', language);
  // Also at start, because a choice may be older than the cookie.
  if (chosen || recall('language') === language) setLanguageCookie(language);
  const locale = navigator.languages.find((tag) => tag.split('-')[0] === language) ?? language;
  state.now = { language, locale, texts };
  document.documentElement.lang = language;
}

const YEAR_IN_SECONDS = 31_536_000;

/** Stores the choice for the server's pages, such as sign-in and consent, which can't read the local storage. */
function setLanguageCookie(language: Language): void {
  const secure = location.protocol === 'https:' ? '; secure' : '';
  document.cookie = `carrel-language=${language}; path=${base}/; max-age=${YEAR_IN_SECONDS}; samesite=lax${secure}`;
}

export const language = (): Language => state.now.language;
export const locale = (): string => state.now.locale;

export type Values = Record<string, string | number>;

export const t = (key: Key, values?: Values): string => fillIn((state.now.texts?.main ?? en)[key], values);

/** Returns a function like `t` for the texts of a subject. */
export function textsOf<S extends Subject>(subject: S, english: Catalogues[S]) {
  return (key: keyof Catalogues[S], values?: Values): string => {
    const texts: Catalogues[S] = state.now.texts?.[subject] ?? english;
    return fillIn(texts[key] as Text, values);
  };
}

/** Replaces `{name}` by its value. `count` selects singular or plural. */
function fillIn(entry: Text, values: Values = {}): string {
  const form =
    typeof entry === 'string'
      ? entry
      : (entry[new Intl.PluralRules(state.now.locale).select(Number(values.count)) as 'one' | 'other'] ?? entry.other);
  return form.replace(/\{(\w+)\}/g, (_, name: string) => {
    const v = values[name];
    return typeof v === 'number' ? new Intl.NumberFormat(state.now.locale).format(v) : (v ?? '');
  });
}

const isKey = (key: string): key is Key => key in en;

/** The text for a value of the API, such as `step.search`, or else the fallback. */
export const labelFor = (prefix: string, word: string, fallback: string): string =>
  isKey(`${prefix}.${word}`) ? t(`${prefix}.${word}` as Key) : fallback;

/** The text of an error. English uses the server's detail, which is specific to the request. */
export function errorText(e: ApiError): string {
  return state.now.language === 'en' && e.code !== 'offline' ? e.message : labelFor('problem', e.code, e.message);
}
