import type { Text } from './en';

/** English texts of the bin. */
export const en = {
  bin: 'Bin',
  text: 'Deleted chats, memories, favourites and documents of this agent. Only you see what you deleted.',
  filter: 'Kind',
  all: 'All',
  documents: 'Documents',
  'kind.thread': 'Chat',
  'kind.memory': 'Memory',
  'kind.favourite': 'Favourite',
  'kind.document': 'Document',
  deleted: 'Deleted {when}',
  expires: 'removed for good {when}',
  restore: 'Restore',
  restore_name: 'Restore: {name}',
  more: 'More actions: {name}',
  delete_now: 'Delete now',
  delete_title: 'Delete now?',
  delete_text: '“{name}” is removed for good. This can’t be undone.',
  deleted_now: '“{name}” removed for good.',
  empty: 'Empty the bin',
  empty_title: 'Empty the bin?',
  empty_text: 'All items in this bin are removed for good, also those that the filter hides. This can’t be undone.',
  emptied: 'The bin is empty.',
  restored: '“{name}” restored.',
  'open.thread': 'Open chat',
  'open.memory': 'Show memories',
  'open.favourite': 'Show favourites',
  'open.document': 'Show document',
  none_title: 'The bin is empty',
  none_text:
    'Deleted chats, memories, favourites and documents are kept here for some days, so that you can restore them.',
  none_of_kind: 'Nothing of this kind is in the bin.',
} satisfies Record<string, Text>;

export type BinKey = keyof typeof en;
