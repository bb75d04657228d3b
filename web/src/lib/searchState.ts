import type { components } from './schema';

type SearchRequest = components['schemas']['SearchRequest'];
export type SearchField = Exclude<components['schemas']['SearchField'], 'source'>;
export type Order = NonNullable<SearchRequest['sort']>;

/** The fields of documents that results are filtered and counted by, in display order. */
export const fields: readonly SearchField[] = ['type', 'author', 'venue', 'language', 'tag'];
export const orders: readonly Order[] = ['relevance', 'year', 'oldest', 'added'];

/** A search as the URL of the page has it. */
export type SearchState = {
  q: string;
  source?: string;
  from?: number;
  to?: number;
  sort: Order;
  values: Record<SearchField, string[]>;
  hasYear?: boolean;
};

const noValues = (): SearchState['values'] => ({ type: [], author: [], venue: [], language: [], tag: [] });
const plural = { type: 'types', author: 'authors', venue: 'venues', language: 'languages', tag: 'tags' } as const;

const yearIn = (text: string | null) => (text && /^\d{1,4}$/.test(text) && Number(text) > 0 ? Number(text) : undefined);

export function readSearch(p: URLSearchParams): SearchState {
  const values = noValues();
  for (const f of fields) values[f] = [...new Set(p.getAll(f).filter(Boolean))];
  const sort = p.get('sort') as Order;
  const dated = p.get('dated');
  return {
    q: p.get('q') ?? '',
    source: p.get('source') ?? undefined,
    from: yearIn(p.get('from')),
    to: yearIn(p.get('to')),
    sort: orders.includes(sort) ? sort : 'relevance',
    values,
    hasYear: dated === 'yes' ? true : dated === 'no' ? false : undefined,
  };
}

/** The parameters of a search in the URL. Default values are left out. */
export function searchParams(s: SearchState): URLSearchParams {
  const p = new URLSearchParams();
  if (s.q) p.set('q', s.q);
  if (s.source) p.set('source', s.source);
  if (s.from !== undefined) p.set('from', String(s.from));
  if (s.to !== undefined) p.set('to', String(s.to));
  for (const f of fields) for (const v of s.values[f]) p.append(f, v);
  if (s.hasYear !== undefined) p.set('dated', s.hasYear ? 'yes' : 'no');
  if (s.sort !== 'relevance') p.set('sort', s.sort);
  return p;
}

/** Whether the search excludes results by a year or a field. */
export const isFiltered = (s: SearchState): boolean =>
  s.from !== undefined || s.to !== undefined || s.hasYear !== undefined || fields.some((f) => s.values[f].length > 0);

/** The search without its filters. */
export const withoutFilters = (s: SearchState): SearchState => ({
  q: s.q,
  source: s.source,
  from: undefined,
  to: undefined,
  sort: s.sort,
  values: noValues(),
  hasYear: undefined,
});

export function toRequest(s: SearchState): SearchRequest {
  const filter: NonNullable<SearchRequest['filter']> = {};
  for (const f of fields) if (s.values[f].length) filter[plural[f]] = s.values[f];
  if (s.hasYear !== undefined) filter.hasYear = s.hasYear;
  return {
    query: s.q,
    sourceId: s.source,
    fromYear: s.from,
    toYear: s.to,
    filter: Object.keys(filter).length ? filter : undefined,
    sort: s.sort === 'relevance' ? undefined : s.sort,
  };
}

/** The search of a saved request. A request of another client may have fields that the page does not show. */
export function fromRequest(r: SearchRequest): SearchState {
  const values = noValues();
  for (const f of fields) values[f] = r.filter?.[plural[f]] ?? [];
  return {
    q: r.query,
    source: r.sourceId,
    from: r.fromYear,
    to: r.toYear,
    sort: r.sort ?? 'relevance',
    values,
    hasYear: r.filter?.hasYear,
  };
}
