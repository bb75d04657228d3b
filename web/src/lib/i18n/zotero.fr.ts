import type { Text } from './en';
import type { ZoteroKey } from './zotero.en';

export const fr: Record<ZoteroKey, Text> = {
  write: 'Écrire dans Zotero',
  write_now: 'Écrire',
  writing: 'Écriture…',
  all: 'Écrit tous vos favoris. Les œuvres déjà présentes dans la bibliothèque ne sont pas créées de nouveau.',
  shown:
    'Écrit les favoris qui correspondent aux filtres de la page. Les œuvres déjà présentes dans la bibliothèque ' +
    'ne sont pas créées de nouveau.',
  some: {
    one: 'Écrit le favori sélectionné. Une œuvre déjà présente dans la bibliothèque n’est pas créée de nouveau.',
    other:
      'Écrit les {count} favoris sélectionnés. Les œuvres déjà présentes dans la bibliothèque ne sont pas créées ' +
      'de nouveau.',
  },
  library: 'Bibliothèque',
  collection: 'Collection Zotero',
  collection_hint: 'Créée si elle n’existe pas. La clé API de la source doit permettre l’écriture.',
  written: 'Écrit dans la collection « {collection} ».',
  added: { one: '{count} nouvel élément', other: '{count} nouveaux éléments' },
  linked: {
    one: '{count} élément de la bibliothèque ajouté à la collection',
    other: '{count} éléments de la bibliothèque ajoutés à la collection',
  },
  unchanged: { one: '{count} était déjà présent', other: '{count} étaient déjà présents' },
  failed: { one: '{count} n’a pas pu être écrit', other: '{count} n’ont pas pu être écrits' },
};
