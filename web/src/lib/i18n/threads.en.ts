import type { Text } from './en';

/** English texts for keeping chats in order: search, filters, selection and tags. */
export const en = {
  search: 'Search all chats',
  search_none: 'No chats found.',
  results: { one: '{count} chat found', other: '{count} chats found' },
  results_more: 'The latest {count} chats are shown. Add words to narrow the search.',
  filter: 'Filter chats',
  all: 'All chats',
  archived: 'Archived',
  archived_none: 'No archived chats.',
  tag_none: 'No chats with this tag.',
  select: 'Select chats',
  select_one: 'Select {title}',
  actions: 'Actions for selected chats',
  done: 'Done',
  pinned: 'Pinned',
  pin: 'Pin',
  unpin: 'Unpin',
  archive: 'Archive',
  unarchive: 'Move back to chats',
  was_archived: { one: 'Chat archived.', other: '{count} chats archived.' },
  was_unarchived: { one: 'Chat moved back.', other: '{count} chats moved back.' },
  was_deleted: '{count} chats moved to the bin.',
  changed_some: '{done} of {count} chats changed.',
  edit_tags: 'Edit tags',
  add_tags: 'Add tags',
  tags: 'Tags',
  tags_hint: 'Separate tags with commas.',
} satisfies Record<string, Text>;

export type ThreadsKey = keyof typeof en;
