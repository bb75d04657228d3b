import type { BinKey } from './bin.en';
import type { Text } from './en';

/** French texts of the bin. */
export const fr: Record<BinKey, Text> = {
  bin: 'Corbeille',
  text:
    'Les discussions, souvenirs, favoris et documents supprimés de cet agent. Vous seul voyez ce que vous ' +
    'avez supprimé.',
  filter: 'Type',
  all: 'Tout',
  documents: 'Documents',
  'kind.thread': 'Discussion',
  'kind.memory': 'Souvenir',
  'kind.favourite': 'Favori',
  'kind.document': 'Document',
  deleted: 'Supprimé {when}',
  expires: 'effacé définitivement {when}',
  restore: 'Restaurer',
  restore_name: 'Restaurer : {name}',
  more: 'Autres actions : {name}',
  delete_now: 'Supprimer maintenant',
  delete_title: 'Supprimer maintenant ?',
  delete_text: '« {name} » sera effacé définitivement. Cette action est irréversible.',
  deleted_now: '« {name} » effacé définitivement.',
  empty: 'Vider la corbeille',
  empty_title: 'Vider la corbeille ?',
  empty_text:
    'Tout le contenu de cette corbeille sera effacé définitivement, même ce que le filtre masque. Cette ' +
    'action est irréversible.',
  emptied: 'La corbeille est vide.',
  restored: '« {name} » restauré.',
  'open.thread': 'Ouvrir la discussion',
  'open.memory': 'Voir les souvenirs',
  'open.favourite': 'Voir les favoris',
  'open.document': 'Voir le document',
  none_title: 'La corbeille est vide',
  none_text:
    'Les discussions, souvenirs, favoris et documents supprimés restent ici quelques jours pour que vous ' +
    'puissiez les restaurer.',
  none_of_kind: 'Rien de ce type dans la corbeille.',
};
