import type { Text } from './en';

/** English texts of the reader of documents. */
export const en = {
  view: 'View',
  original: 'Original',
  text: 'Text',
  download: 'Download original',
  download_name: 'Download {name}',
  full_screen: 'Full screen',
  exit_full_screen: 'Exit full screen',
  not_stored: 'The original file isn’t stored. This is its text.',
  'failure.missing': 'The original file isn’t stored anymore. This is its text.',
  'failure.password': 'The original needs a password, so it can’t be shown here. This is its text.',
  'failure.damaged': 'The original can’t be shown because the file is damaged. This is its text.',
  'failure.unreachable': 'The original couldn’t be loaded. This is its text.',
  loading: 'Loading the original',
  page: 'Page',
  of_pages: 'of {count}',
  page_label: 'Page {n}',
  previous_page: 'Previous page',
  next_page: 'Next page',
  zoom_in: 'Zoom in',
  zoom_out: 'Zoom out',
  fit_width: 'Fit width',
  thumbnails: 'Page thumbnails',
  find: 'Search in this document',
  find_none: 'No matches',
  find_searching: 'Searching …',
  find_count: '{n} of {count}',
  find_previous: 'Previous match',
  find_next: 'Next match',
  find_close: 'Close search',
  not_marked: 'The passage is on this page, but couldn’t be marked.',
  toolbar: 'Reader controls',
  pages: 'Pages of the original',
} satisfies Record<string, Text>;

export type ReaderKey = keyof typeof en;
