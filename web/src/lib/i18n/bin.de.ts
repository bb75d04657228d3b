import type { BinKey } from './bin.en';
import type { Text } from './en';

/** German texts of the bin. */
export const de: Record<BinKey, Text> = {
  bin: 'Papierkorb',
  text: 'Gelöschte Chats, Erinnerungen, Favoriten und Dokumente dieses Agenten. Nur Sie sehen, was Sie gelöscht haben.',
  filter: 'Art',
  all: 'Alle',
  documents: 'Dokumente',
  'kind.thread': 'Chat',
  'kind.memory': 'Erinnerung',
  'kind.favourite': 'Favorit',
  'kind.document': 'Dokument',
  deleted: 'Gelöscht {when}',
  expires: 'wird {when} endgültig entfernt',
  restore: 'Wiederherstellen',
  restore_name: 'Wiederherstellen: {name}',
  more: 'Weitere Aktionen: {name}',
  delete_now: 'Jetzt löschen',
  delete_title: 'Jetzt löschen?',
  delete_text: '„{name}“ wird endgültig entfernt. Das kann nicht rückgängig gemacht werden.',
  deleted_now: '„{name}“ endgültig entfernt.',
  empty: 'Papierkorb leeren',
  empty_title: 'Papierkorb leeren?',
  empty_text:
    'Alles in diesem Papierkorb wird endgültig entfernt, auch was der Filter ausblendet. Das kann nicht ' +
    'rückgängig gemacht werden.',
  emptied: 'Der Papierkorb ist leer.',
  restored: '„{name}“ wiederhergestellt.',
  'open.thread': 'Chat öffnen',
  'open.memory': 'Gedächtnis zeigen',
  'open.favourite': 'Favoriten zeigen',
  'open.document': 'Dokument zeigen',
  none_title: 'Der Papierkorb ist leer',
  none_text:
    'Gelöschte Chats, Erinnerungen, Favoriten und Dokumente bleiben einige Tage hier, damit Sie sie ' +
    'wiederherstellen können.',
  none_of_kind: 'Im Papierkorb ist nichts von dieser Art.',
};
