// All English catalogues in one module, for tests. Pages import those that they need.
export { en as main } from './en';
export { en as answers } from './answers.en';
export { en as around } from './around.en';
export { en as bin } from './bin.en';
export { en as check } from './check.en';
export { en as favourites } from './favourites.en';
export { en as library } from './library.en';
export { en as manage } from './manage.en';
export { en as people } from './people.en';
export { en as reader } from './reader.en';
export { en as search } from './search.en';
export { en as share } from './share.en';
export { en as start } from './start.en';
export { en as threads } from './threads.en';
export { en as zotero } from './zotero.en';
