import type { Text } from './en';

/** English texts of writing favourites to Zotero. */
export const en = {
  write: 'Write to Zotero',
  write_now: 'Write',
  writing: 'Writing…',
  all: 'Writes all your favourites. Works that the library has are not created again.',
  shown: 'Writes the favourites that match the filters of the page. Works that the library has are not created again.',
  some: {
    one: 'Writes the selected favourite. A work that the library has is not created again.',
    other: 'Writes the {count} selected favourites. Works that the library has are not created again.',
  },
  library: 'Library',
  collection: 'Zotero collection',
  collection_hint: 'Created if it doesn’t exist. The API key of the source needs write access.',
  written: 'Written to the collection “{collection}”.',
  added: { one: '{count} new item', other: '{count} new items' },
  linked: {
    one: '{count} item of the library added to the collection',
    other: '{count} items of the library added to the collection',
  },
  unchanged: { one: '{count} was there already', other: '{count} were there already' },
  failed: { one: '{count} couldn’t be written', other: '{count} couldn’t be written' },
} satisfies Record<string, Text>;

export type ZoteroKey = keyof typeof en;
