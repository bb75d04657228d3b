import { describe, expect, it } from 'vitest';
import { fromRequest, isFiltered, readSearch, searchParams, toRequest, withoutFilters } from './searchState';

const url =
  'q=model&source=src_1&from=1960&to=1979&type=article&author=Codd%2C+E.&author=Date&tag=db&dated=yes&sort=oldest';

describe('a search', () => {
  const search = readSearch(new URLSearchParams(url));
  it('is the same after a round trip through the URL', () => expect(searchParams(search).toString()).toBe(url));
  it('is the same after a round trip through a saved request', () =>
    expect(fromRequest(toRequest(search))).toEqual(search));
  it('is a request with a filter', () =>
    expect(toRequest(search)).toEqual({
      query: 'model',
      sourceId: 'src_1',
      fromYear: 1960,
      toYear: 1979,
      filter: { types: ['article'], authors: ['Codd, E.', 'Date'], tags: ['db'], hasYear: true },
      sort: 'oldest',
    }));
  it('has no filters after they are removed', () => {
    expect(isFiltered(search)).toBe(true);
    expect(isFiltered(withoutFilters(search))).toBe(false);
    expect(toRequest(withoutFilters(search))).toEqual({ query: 'model', sourceId: 'src_1', sort: 'oldest' });
  });
  it('ignores values that it does not know', () =>
    expect(
      searchParams(readSearch(new URLSearchParams('q=x&from=0&to=later&sort=size&dated=maybe&type='))).toString(),
    ).toBe('q=x'));
});
