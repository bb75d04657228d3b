import type { Text } from './en';

/** The texts for sharing and exporting chats, and for reports. */
export const en = {
  share: 'Share…',
  share_title: 'Share chat',
  share_text:
    'Anyone with the link can read the messages that this chat has now, with their quotes, verdicts and ' +
    'bibliography. Messages that you write later are not shared.',
  expires: 'Expires',
  'expires.1': 'After 1 day',
  'expires.7': 'After 7 days',
  'expires.30': 'After 30 days',
  'expires.365': 'After 1 year',
  'expires.0': 'Never',
  create: 'Create link',
  new_link: 'New link',
  link: 'Link',
  created: 'Copy the link now. It can’t be shown again.',
  existing: 'Links to this chat',
  replace: 'A link can’t be shown again. If you have lost it, create a new one and revoke the old one.',
  created_at: 'Created {date}',
  expires_at: 'expires {date}',
  expired_at: 'expired {date}',
  endless: 'does not expire',
  revoke: 'Revoke',
  revoke_title: 'Revoke the link?',
  revoke_text: 'The page stops working at once. This can’t be undone.',
  revoked: 'Link revoked.',
  links: 'Links',
  links_text: 'Chats that others can read with a link, without an account.',
  links_empty_title: 'No links',
  links_empty: 'Choose “Share…” in the menu of a chat to create one.',
  load_more: 'Show more',
  export_docx: 'Export as Word',
  export_pdf: 'Export as PDF',
  contents: 'Contents',
  export_answer: 'Export answer',
  sections: 'Sections',
  section_done: 'done',
  section_now: 'in progress',
  section_open: 'not started',
} satisfies Record<string, Text>;

export type ShareKey = keyof typeof en;
