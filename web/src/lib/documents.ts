import { locale } from './i18n/index.svelte';
import type { components } from './schema';

export type DocumentSummary = components['schemas']['DocumentSummary'];
export type DocumentChange = components['schemas']['DocumentChange'];
export type Language = Exclude<components['schemas']['DocumentLanguage'], ''>;
export type DocumentStatus = 'edited' | 'no_year' | 'no_text';

/** The document types with a name in the catalogues. Sources may give others. */
export const knownTypes = [
  'article',
  'article-journal',
  'book',
  'chapter',
  'dataset',
  'paper-conference',
  'post',
  'report',
  'thesis',
  'webpage',
] as const;

/** The codes of the languages that documents can have. A Go test compares them with the registry of languages. */
const languages = 'ar da de el en es fi fr ga hu it nl no pt ro ru sv ta tr vi';

/** The name of a language in the user's language. */
export const languageName = (code: string): string =>
  new Intl.DisplayNames([locale()], { type: 'language' }).of(code) ?? code;

/** The languages that documents can have, sorted by name. */
export const documentLanguages = (): { code: Language; name: string }[] =>
  languages
    .split(' ')
    .map((code) => ({ code: code as Language, name: languageName(code) }))
    .sort((a, b) => a.name.localeCompare(b.name, locale()));

/** The fields of the edit form as texts. */
export type DocumentFields = Record<
  'title' | 'authors' | 'year' | 'venue' | 'doi' | 'url' | 'tags' | 'language',
  string
>;

export const fieldsOf = (d: DocumentSummary): DocumentFields => ({
  title: d.title,
  authors: d.authors.join('\n'),
  year: d.year ? String(d.year) : '',
  venue: d.venue ?? '',
  doi: d.doi ?? '',
  url: d.url ?? '',
  tags: d.tags.join(', '),
  language: d.language ?? '',
});

const list = (text: string, separator: RegExp): string[] =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter(Boolean);

/** The fields that differ from the document, so that fields nobody changed stay those of the import. */
export function changeOf(d: DocumentSummary, now: DocumentFields): DocumentChange {
  const before = fieldsOf(d);
  const change: DocumentChange = {};
  for (const name of ['title', 'venue', 'doi', 'url', 'language'] as const)
    if (now[name].trim() !== before[name]) (change[name] as string) = now[name].trim();
  if (now.year.trim() !== before.year) change.year = Number(now.year.trim() || 0);
  if (now.authors.trim() !== before.authors) change.authors = list(now.authors, /\n/);
  if (now.tags.trim() !== before.tags) change.tags = list(now.tags, /,/);
  return change;
}
