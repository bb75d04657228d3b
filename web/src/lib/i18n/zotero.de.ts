import type { Text } from './en';
import type { ZoteroKey } from './zotero.en';

/** German texts of writing favourites to Zotero. */
export const de: Record<ZoteroKey, Text> = {
  write: 'In Zotero schreiben',
  write_now: 'Schreiben',
  writing: 'Wird geschrieben …',
  all: 'Schreibt alle Ihre Favoriten. Werke, die die Bibliothek hat, werden nicht noch einmal angelegt.',
  shown: 'Schreibt die gefilterten Favoriten. Werke, die die Bibliothek hat, werden nicht noch einmal angelegt.',
  some: {
    one: 'Schreibt den ausgewählten Favoriten. Ein Werk, das die Bibliothek hat, wird nicht noch einmal angelegt.',
    other:
      'Schreibt die {count} ausgewählten Favoriten. Werke, die die Bibliothek hat, werden nicht noch einmal angelegt.',
  },
  library: 'Bibliothek',
  collection: 'Zotero-Sammlung',
  collection_hint: 'Wird angelegt, falls sie fehlt. Der API-Schlüssel der Quelle braucht Schreibzugriff.',
  written: 'In die Sammlung „{collection}“ geschrieben.',
  added: { one: '{count} neuer Eintrag', other: '{count} neue Einträge' },
  linked: {
    one: '{count} Eintrag der Bibliothek zur Sammlung hinzugefügt',
    other: '{count} Einträge der Bibliothek zur Sammlung hinzugefügt',
  },
  unchanged: { one: '{count} war schon da', other: '{count} waren schon da' },
  failed: { one: '{count} konnte nicht geschrieben werden', other: '{count} konnten nicht geschrieben werden' },
};
