import { describe, expect, it } from 'vitest';
import { nameOf, reference } from './cite';

const codd = {
  title: 'A Relational Model of Data & 100% of Banks',
  authors: ['Edgar F. Codd'],
  year: 1970,
  venue: 'Communications of the ACM',
  doi: '10.1145/362384.362685',
};

describe('references', () => {
  it('splits names', () => {
    expect(nameOf('Edgar F. Codd')).toEqual({ family: 'Codd', given: 'Edgar F.' });
    expect(nameOf('Ludwig van Beethoven')).toEqual({ family: 'van Beethoven', given: 'Ludwig' });
    expect(nameOf('Knuth, Donald E.')).toEqual({ family: 'Knuth', given: 'Donald E.' });
    expect(nameOf('Plato')).toEqual({ family: 'Plato', given: '' });
  });
  it('writes BibTeX with its special characters escaped', () => {
    expect(reference(codd, 'bibtex')).toBe(
      [
        '@article{codd1970relational,',
        '  title = {{A Relational Model of Data \\& 100\\% of Banks}},',
        '  author = {Codd, Edgar F.},',
        '  year = {1970},',
        '  journal = {Communications of the ACM},',
        '  doi = {10.1145/362384.362685}',
        '}\n',
      ].join('\n'),
    );
  });
  it('writes RIS', () => {
    expect(reference(codd, 'ris').split('\r\n')).toEqual([
      'TY  - JOUR',
      'TI  - A Relational Model of Data & 100% of Banks',
      'AU  - Codd, Edgar F.',
      'PY  - 1970',
      'JO  - Communications of the ACM',
      'DO  - 10.1145/362384.362685',
      'UR  - https://doi.org/10.1145/362384.362685',
      'ER  - ',
      '',
    ]);
  });
  it('writes valid CSL-JSON', () => {
    const [item] = JSON.parse(reference(codd, 'csl')) as Record<string, unknown>[];
    expect(item).toMatchObject({
      type: 'article-journal',
      author: [{ family: 'Codd', given: 'Edgar F.' }],
      issued: { 'date-parts': [[1970]] },
      DOI: codd.doi,
    });
  });
  it('writes APA, also for many authors, none, and no year', () => {
    expect(reference(codd, 'apa')).toBe(
      'Codd, E. F. (1970). A Relational Model of Data & 100% of Banks. Communications of the ACM. ' +
        'https://doi.org/10.1145/362384.362685',
    );
    expect(reference({ title: 'Two', authors: ['Ada King', 'Jean-Luc Picard'] }, 'apa')).toBe(
      'King, A., & Picard, J.-L. (n.d.). Two.',
    );
    expect(reference({ title: 'Nobody?', authors: [] }, 'apa')).toBe('Nobody? (n.d.).');
    expect(reference({ title: 'Many', authors: Array.from({ length: 25 }, (_, i) => `A B${i}`) }, 'apa')).toContain(
      'B18, A., … B24, A. (n.d.)',
    );
  });
});
