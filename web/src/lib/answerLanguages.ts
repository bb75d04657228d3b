import { locale } from './i18n/index.svelte';

/** Codes of languages to choose from. The API accepts every ISO 639 code; a stored one that is missing is added. */
const codes =
  'ar bg bn ca cs da de el en es et fa fi fr ga he hi hr hu id is it ja ko lt lv ms nb nl pl pt ro ru sk sl sr sv sw ' +
  'ta te th tr uk ur vi zh';

/** Languages of answers with their names in the user's language, sorted by name. */
export function answerLanguages(current: string): { code: string; name: string }[] {
  const names = new Intl.DisplayNames([locale()], { type: 'language' });
  const all = new Set([...codes.split(' '), ...(current ? [current] : [])]);
  return [...all]
    .map((code) => ({ code, name: names.of(code) ?? code }))
    .sort((a, b) => a.name.localeCompare(b.name, locale()));
}
