import { labelFor } from './i18n/index.svelte';

type Need = 'required' | 'optional';

/** Settings with a field in the source form. All `import` kinds also have a schedule. */
export type Setting =
  | 'path'
  | 'urls'
  | 'url'
  | 'bucket'
  | 'prefix'
  | 'region'
  | 'endpoint'
  | 'accessKeyId'
  | 'library'
  | 'collection'
  | 'language'
  | 'tool';

/** A source kind. `import` kinds are imported on a schedule, `live` kinds are queried on every search. */
export type Kind = {
  group: Group;
  mode: 'upload' | 'import' | 'live';
  name?: string;
  settings?: Partial<Record<Setting, Need>>;
  secret?: Need;
  paid?: true;
  adminsOnly?: true;
};

/** Groups of the kind picker, in display order. */
export const groups = ['files', 'papers', 'web', 'other'] as const;
type Group = (typeof groups)[number];

/** All source kinds. kinds.test.ts compares them with `SourceSettings` in the contract. */
export const kinds: Record<string, Kind> = {
  upload: { group: 'files', mode: 'upload' },
  folder: { group: 'files', mode: 'import', settings: { path: 'required' }, adminsOnly: true },
  s3: {
    group: 'files',
    mode: 'import',
    settings: {
      bucket: 'required',
      prefix: 'optional',
      region: 'optional',
      endpoint: 'optional',
      accessKeyId: 'optional',
    },
    secret: 'optional',
  },
  zotero: {
    group: 'papers',
    mode: 'import',
    name: 'Zotero',
    settings: { library: 'optional', collection: 'optional', url: 'optional' },
    secret: 'optional',
  },
  openalex: { group: 'papers', mode: 'live', name: 'OpenAlex', secret: 'optional' },
  crossref: { group: 'papers', mode: 'live', name: 'Crossref' },
  arxiv: { group: 'papers', mode: 'live', name: 'arXiv' },
  semanticscholar: { group: 'papers', mode: 'live', name: 'Semantic Scholar', secret: 'optional' },
  pubmed: { group: 'papers', mode: 'live', name: 'PubMed', secret: 'optional' },
  europepmc: { group: 'papers', mode: 'live', name: 'Europe PMC' },
  core: { group: 'papers', mode: 'live', name: 'CORE', secret: 'required' },
  web: { group: 'web', mode: 'import', settings: { urls: 'required' } },
  feed: { group: 'web', mode: 'import', settings: { url: 'required' } },
  wikipedia: { group: 'web', mode: 'live', name: 'Wikipedia', settings: { language: 'optional' } },
  searxng: { group: 'web', mode: 'live', name: 'SearXNG', settings: { url: 'required', language: 'optional' } },
  brave: { group: 'web', mode: 'live', name: 'Brave Search', secret: 'required', paid: true },
  tavily: { group: 'web', mode: 'live', name: 'Tavily', secret: 'required', paid: true },
  exa: { group: 'web', mode: 'live', name: 'Exa', secret: 'required', paid: true },
  mcp: { group: 'other', mode: 'live', settings: { url: 'required', tool: 'optional' }, secret: 'optional' },
};

/** The display name of a kind. Kinds unknown to this version of the app show their API name. */
export const kindName = (kind: string): string => labelFor('source_kind', kind, kinds[kind]?.name ?? kind);

/** Reports whether a kind is imported on a schedule. Unknown kinds may be. */
export const isImported = (kind: string): boolean => (kinds[kind]?.mode ?? 'import') === 'import';

/** Sync intervals in minutes; 0 is manual. */
export const schedules = [0, 15, 60, 360, 1440, 10_080] as const;
