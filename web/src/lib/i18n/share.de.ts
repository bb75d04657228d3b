import type { Text } from './en';
import type { ShareKey } from './share.en';

export const de: Record<ShareKey, Text> = {
  share: 'Teilen …',
  share_title: 'Chat teilen',
  share_text:
    'Wer den Link hat, kann die jetzigen Nachrichten dieses Chats lesen, mit Zitaten, Urteilen und ' +
    'Literaturverzeichnis. Spätere Nachrichten werden nicht geteilt.',
  expires: 'Gültigkeit',
  'expires.1': '1 Tag',
  'expires.7': '7 Tage',
  'expires.30': '30 Tage',
  'expires.365': '1 Jahr',
  'expires.0': 'Unbegrenzt',
  create: 'Link erstellen',
  new_link: 'Neuer Link',
  link: 'Link',
  created: 'Kopieren Sie den Link jetzt. Er kann nicht noch einmal angezeigt werden.',
  existing: 'Links zu diesem Chat',
  replace:
    'Ein Link kann nicht noch einmal angezeigt werden. Wenn Sie ihn verloren haben, erstellen Sie einen neuen ' +
    'und widerrufen Sie den alten.',
  created_at: 'Erstellt am {date}',
  expires_at: 'gültig bis {date}',
  expired_at: 'abgelaufen am {date}',
  endless: 'unbegrenzt gültig',
  revoke: 'Widerrufen',
  revoke_title: 'Link widerrufen?',
  revoke_text: 'Die Seite ist sofort nicht mehr erreichbar. Das kann nicht rückgängig gemacht werden.',
  revoked: 'Link widerrufen.',
  links: 'Links',
  links_text: 'Chats, die andere mit einem Link ohne Konto lesen können.',
  links_empty_title: 'Keine Links',
  links_empty: 'Wählen Sie „Teilen …“ im Menü eines Chats, um einen zu erstellen.',
  load_more: 'Mehr anzeigen',
  export_docx: 'Als Word exportieren',
  export_pdf: 'Als PDF exportieren',
  contents: 'Inhalt',
  export_answer: 'Antwort exportieren',
  sections: 'Abschnitte',
  section_done: 'fertig',
  section_now: 'in Arbeit',
  section_open: 'noch nicht begonnen',
};
