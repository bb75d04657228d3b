import type { Text } from './en';

/** English texts of the sources of answers and of files that are attached to questions. */
export const en = {
  sources: { one: '{count} source', other: '{count} sources' },
  no_year: 'No year',
  open_at_quote: 'Open at the quote',
  open_quote: 'Open source {n} at the quote:',
  attached: 'Attached files',
  waiting: 'Waiting',
  uploading: 'Uploading {percent}',
  reading: 'Reading the file',
  indexing: 'Adding it to the search index',
  ready: 'Ready',
  refused: 'Couldn’t be read: {reason}',
  no_documents: 'The file has no text to search.',
  remove_file: 'Remove {name}',
  retry_file: 'Retry {name}',
  file_ready: '{name} is ready. Ask your question.',
} satisfies Record<string, Text>;

export type AnswersKey = keyof typeof en;
