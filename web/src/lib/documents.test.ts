import { describe, expect, it } from 'vitest';
import { changeOf, documentLanguages, fieldsOf, knownTypes, type DocumentSummary } from './documents';
import { en } from './i18n/en';

const codd: DocumentSummary = {
  id: 'doc_1',
  sourceId: 'src_1',
  externalId: 'codd-1970',
  cardId: 'card_1',
  title: 'A Relational Model',
  authors: ['E. F. Codd', 'Another'],
  year: 1970,
  doi: '10.1145/362384.362685',
  language: 'en',
  tags: ['databases'],
  edited: [],
  createdAt: '2026-11-03T12:30:15.123Z',
  updatedAt: '2026-11-03T12:30:15.123Z',
};

describe('a change of a document', () => {
  it('is empty without a change', () => expect(changeOf(codd, fieldsOf(codd))).toEqual({}));
  it('has only the changed fields', () =>
    expect(changeOf(codd, { ...fieldsOf(codd), title: ' Banks ', tags: 'a, b,' })).toEqual({
      title: 'Banks',
      tags: ['a', 'b'],
    }));
  it('clears a year and a list', () =>
    expect(changeOf(codd, { ...fieldsOf(codd), year: '', authors: '\n' })).toEqual({ year: 0, authors: [] }));
  it('clears a language', () => expect(changeOf(codd, { ...fieldsOf(codd), language: '' })).toEqual({ language: '' }));
  it('has one author a line', () =>
    expect(changeOf(codd, { ...fieldsOf(codd), authors: 'Codd, E. F.\n\n Date, C. J. ' })).toEqual({
      authors: ['Codd, E. F.', 'Date, C. J.'],
    }));
});

it('names every language', () => {
  const names = documentLanguages();
  expect(names.find((l) => l.code === 'de')?.name).toBe('German');
  expect(names.filter((l) => l.name === l.code)).toEqual([]);
});

it('knows the types that have a name', () =>
  expect([...knownTypes]).toEqual(
    Object.keys(en)
      .filter((key) => key.startsWith('type.'))
      .map((key) => key.slice('type.'.length))
      .sort(),
  ));
