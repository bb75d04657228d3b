import { describe, expect, it } from 'vitest';
import type { Agent } from './api';
import type { components } from './schema';
import { isEmpty, stepOf } from './start';

type Source = components['schemas']['Source'];
const agent = { id: 'agt_1', capabilities: ['search', 'manage'], sources: [{ kind: 'upload', documents: 0 }] } as Agent;
const source = (of: Partial<Source>): Source =>
  ({ kind: 'upload', documents: 0, status: 'ready', ...of }) as unknown as Source;

describe('the step of an agent', () => {
  it.each<[string, Source[], boolean, string]>([
    ['documents', [source({})], false, 'without documents'],
    ['import', [source({})], true, 'while files are sent'],
    ['import', [source({ import: { state: 'queued' } as Source['import'] })], false, 'while an import waits'],
    ['import', [source({ documents: 3, status: 'indexing' })], false, 'until the documents are searchable'],
    ['question', [source({ documents: 3 })], false, 'with searchable documents'],
    ['question', [source({}), source({ kind: 'wikipedia' })], false, 'with a source that is searched live'],
  ])('is %s', (want, sources, uploading) => expect(stepOf(agent, sources, uploading)).toBe(want));
  it('is the name before there is an agent', () => expect(stepOf(undefined, [], false)).toBe('name'));
});

describe('an agent is empty', () => {
  it('without documents', () => expect(isEmpty(agent)).toBe(true));
  it('but not with a live source', () =>
    expect(isEmpty({ ...agent, sources: [{ kind: 'arxiv', documents: 0 }] } as Agent)).toBe(false));
  it('but not for those who cannot add documents', () =>
    expect(isEmpty({ ...agent, capabilities: ['search'] } as Agent)).toBe(false));
});
