import { named } from './i18n/index.svelte';

type Need = 'must' | 'may';

/** The settings of the API that a form asks for; how often it is read again is asked for all that are `read`. */
export type Setting =
  'path' | 'urls' | 'url' | 'bucket' | 'prefix' | 'region' | 'endpoint' | 'accessKeyId' | 'language' | 'tool';

/** What a kind of source needs. Those that are read have an import and a schedule; those that are live are asked at every search. */
export type Kind = {
  group: Group;
  way: 'sent' | 'read' | 'live';
  name?: string;
  settings?: Partial<Record<Setting, Need>>;
  secret?: Need;
  paid?: true;
  adminsOnly?: true;
};

/** The groups of the list that one chooses from, in its order. */
export const groups = ['files', 'papers', 'web', 'other'] as const;
type Group = (typeof groups)[number];

/** All kinds, as the contract's `SourceSettings` has them; a test holds the two together. */
export const kinds: Record<string, Kind> = {
  upload: { group: 'files', way: 'sent' },
  folder: { group: 'files', way: 'read', settings: { path: 'must' }, adminsOnly: true },
  s3: {
    group: 'files',
    way: 'read',
    settings: { bucket: 'must', prefix: 'may', region: 'may', endpoint: 'may', accessKeyId: 'may' },
    secret: 'may',
  },
  openalex: { group: 'papers', way: 'live', name: 'OpenAlex', secret: 'may' },
  crossref: { group: 'papers', way: 'live', name: 'Crossref' },
  arxiv: { group: 'papers', way: 'live', name: 'arXiv' },
  semanticscholar: { group: 'papers', way: 'live', name: 'Semantic Scholar', secret: 'may' },
  pubmed: { group: 'papers', way: 'live', name: 'PubMed', secret: 'may' },
  europepmc: { group: 'papers', way: 'live', name: 'Europe PMC' },
  core: { group: 'papers', way: 'live', name: 'CORE', secret: 'must' },
  web: { group: 'web', way: 'read', settings: { urls: 'must' } },
  feed: { group: 'web', way: 'read', settings: { url: 'must' } },
  wikipedia: { group: 'web', way: 'live', name: 'Wikipedia', settings: { language: 'may' } },
  searxng: { group: 'web', way: 'live', name: 'SearXNG', settings: { url: 'must', language: 'may' } },
  brave: { group: 'web', way: 'live', name: 'Brave Search', secret: 'must', paid: true },
  tavily: { group: 'web', way: 'live', name: 'Tavily', secret: 'must', paid: true },
  exa: { group: 'web', way: 'live', name: 'Exa', secret: 'must', paid: true },
  mcp: { group: 'other', way: 'live', settings: { url: 'must', tool: 'may' }, secret: 'may' },
};

/** The name of a kind for people; one that this app does not know has its own. */
export const kindName = (kind: string): string => named('source_kind', kind, kinds[kind]?.name ?? kind);

/** Whether a kind is read again and again. One that is not known here may be. */
export const isRead = (kind: string): boolean => (kinds[kind]?.way ?? 'read') === 'read';

/** How often a source can be read again, in minutes. */
export const schedules = [0, 15, 60, 360, 1440, 10_080] as const;
