import type { Key, Text } from './en';
import type { AnswersKey } from './answers.en';
import type { AroundKey } from './around.en';
import type { BinKey } from './bin.en';
import type { CheckKey } from './check.en';
import type { FavouriteKey } from './favourites.en';
import type { LibraryKey } from './library.en';
import type { ManageKey } from './manage.en';
import type { PeopleKey } from './people.en';
import type { ReaderKey } from './reader.en';
import type { SearchKey } from './search.en';
import type { ShareKey } from './share.en';
import type { StartKey } from './start.en';
import type { ThreadsKey } from './threads.en';
import type { ZoteroKey } from './zotero.en';

/** The texts of a language: those of the first page, and those of the subjects that other pages need. */
export type Catalogues = {
  main: Record<Key, Text>;
  answers: Record<AnswersKey, Text>;
  around: Record<AroundKey, Text>;
  bin: Record<BinKey, Text>;
  check: Record<CheckKey, Text>;
  favourites: Record<FavouriteKey, Text>;
  library: Record<LibraryKey, Text>;
  manage: Record<ManageKey, Text>;
  people: Record<PeopleKey, Text>;
  reader: Record<ReaderKey, Text>;
  search: Record<SearchKey, Text>;
  share: Record<ShareKey, Text>;
  start: Record<StartKey, Text>;
  threads: Record<ThreadsKey, Text>;
  zotero: Record<ZoteroKey, Text>;
};

export type Subject = Exclude<keyof Catalogues, 'main'>;
