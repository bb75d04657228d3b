import type { Favourite } from './api';
import type { Reference } from './cite';
import type { components } from './schema';

export type Collection = components['schemas']['Collection'];
export type FavouriteChange = components['schemas']['FavouriteChange'];
export type ImportedEntry = components['schemas']['ImportedFavourite'];

/** The formats of an export with their names. */
export const formats = [
  ['bibtex', 'BibTeX'],
  ['ris', 'RIS'],
  ['csl-json', 'CSL-JSON'],
  ['csv', 'CSV'],
  ['markdown', 'Markdown'],
] as const;
export type Format = (typeof formats)[number][0];

export const maxTags = 50;
export const maxTag = 100;

/** Identifies a favourite among those of all agents. An id of an agent has no slash. */
export const keyOf = (f: Favourite): string => `${f.agentId}/${f.cardId}`;

/** The reference of a favourite. A card may be any object; missing fields are empty. */
export function workOf(f: Favourite): Reference & { documentId?: string } {
  const c = f.card as Record<string, unknown>;
  const text = (v: unknown) => (typeof v === 'string' ? v : undefined);
  return {
    title: text(c.title) || f.cardId,
    authors: Array.isArray(c.authors) ? c.authors.filter((a) => typeof a === 'string') : [],
    year: typeof c.year === 'number' ? c.year : undefined,
    venue: text(c.venue),
    type: text(c.type),
    doi: text(c.doi),
    url: text(c.url),
    documentId: text(c.documentId),
  };
}

/** The tags in a text, separated by commas. */
export const tagsIn = (text: string): string[] =>
  text
    .split(',')
    .map((tag) => tag.replace(/\s+/g, ' ').trim().slice(0, maxTag))
    .filter(Boolean);

/** Tags with further ones. Tags that differ only in case are one tag, as on the server. */
export function withTags(tags: readonly string[], more: readonly string[]): string[] {
  const all = new Map(tags.map((tag) => [tag.toLowerCase(), tag]));
  for (const tag of more) if (!all.has(tag.toLowerCase())) all.set(tag.toLowerCase(), tag);
  return [...all.values()].sort((a, b) => a.localeCompare(b)).slice(0, maxTags);
}

const mediaTypes = { bibtex: 'application/x-bibtex', ris: 'application/x-research-info-systems' } as const;

/** The media type of a reference file by its name or, for other names, its beginning; undefined for other files. */
export function referenceType(name: string, beginning: string): string | undefined {
  if (/\.(bib|bibtex)$/i.test(name)) return mediaTypes.bibtex;
  if (/\.ris$/i.test(name) || /^\s*TY {2}- /.test(beginning)) return mediaTypes.ris;
  return /^\s*@\s*\w+\s*[{(]/.test(beginning) ? mediaTypes.bibtex : undefined;
}

/** Counts the outcomes of an import, and puts the refused entries first. */
export function summary(entries: readonly ImportedEntry[]): {
  counts: Record<ImportedEntry['outcome'], number>;
  sorted: ImportedEntry[];
} {
  const counts = { added: 0, updated: 0, unchanged: 0, refused: 0 };
  for (const e of entries) counts[e.outcome]++;
  const refused = (e: ImportedEntry) => e.outcome === 'refused';
  return { counts, sorted: [...entries.filter(refused), ...entries.filter((e) => !refused(e))] };
}
