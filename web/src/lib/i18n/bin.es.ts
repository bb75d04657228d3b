import type { BinKey } from './bin.en';
import type { Text } from './en';

/** Spanish texts of the bin. */
export const es: Record<BinKey, Text> = {
  bin: 'Papelera',
  text: 'Los chats, recuerdos, favoritos y documentos eliminados de este agente. Solo usted ve lo que ha eliminado.',
  filter: 'Tipo',
  all: 'Todo',
  documents: 'Documentos',
  'kind.thread': 'Chat',
  'kind.memory': 'Recuerdo',
  'kind.favourite': 'Favorito',
  'kind.document': 'Documento',
  deleted: 'Eliminado {when}',
  expires: 'se borra definitivamente {when}',
  restore: 'Restaurar',
  restore_name: 'Restaurar: {name}',
  more: 'Más acciones: {name}',
  delete_now: 'Eliminar ahora',
  delete_title: '¿Eliminar ahora?',
  delete_text: '«{name}» se borrará definitivamente. Esta acción no se puede deshacer.',
  deleted_now: '«{name}» se ha borrado definitivamente.',
  empty: 'Vaciar la papelera',
  empty_title: '¿Vaciar la papelera?',
  empty_text:
    'Todo lo que hay en esta papelera se borrará definitivamente, también lo que oculta el filtro. Esta ' +
    'acción no se puede deshacer.',
  emptied: 'La papelera está vacía.',
  restored: '«{name}» se ha restaurado.',
  'open.thread': 'Abrir el chat',
  'open.memory': 'Ver los recuerdos',
  'open.favourite': 'Ver los favoritos',
  'open.document': 'Ver el documento',
  none_title: 'La papelera está vacía',
  none_text:
    'Los chats, recuerdos, favoritos y documentos eliminados permanecen aquí unos días para que pueda restaurarlos.',
  none_of_kind: 'No hay nada de este tipo en la papelera.',
};
