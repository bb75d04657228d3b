import { describe, expect, it } from 'vitest';
import { citedDocuments } from './answerSources';
import type { Citation } from './api';

const cite = (n: number, documentId: string): Citation => ({
  n,
  documentId,
  cardId: `card_${documentId}`,
  sourceId: 'src_1',
  title: documentId,
  authors: [],
  quote: 'q',
  start: 0,
  end: 1,
});

describe('citedDocuments', () => {
  it('lists a document once, at the place of its first citation', () =>
    expect(
      citedDocuments([cite(3, 'a'), cite(2, 'b'), cite(1, 'a')]).map((d) => [
        d.document.documentId,
        d.citations.map((c) => c.n),
      ]),
    ).toEqual([
      ['a', [1, 3]],
      ['b', [2]],
    ]));
});
