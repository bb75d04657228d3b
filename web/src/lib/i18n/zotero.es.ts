import type { Text } from './en';
import type { ZoteroKey } from './zotero.en';

export const es: Record<ZoteroKey, Text> = {
  write: 'Escribir en Zotero',
  write_now: 'Escribir',
  writing: 'Escribiendo…',
  all: 'Escribe todos tus favoritos. Las obras que la biblioteca ya tiene no se crean de nuevo.',
  shown:
    'Escribe los favoritos que coinciden con los filtros de la página. Las obras que la biblioteca ya tiene no ' +
    'se crean de nuevo.',
  some: {
    one: 'Escribe el favorito seleccionado. Una obra que la biblioteca ya tiene no se crea de nuevo.',
    other: 'Escribe los {count} favoritos seleccionados. Las obras que la biblioteca ya tiene no se crean de nuevo.',
  },
  library: 'Biblioteca',
  collection: 'Colección de Zotero',
  collection_hint: 'Se crea si no existe. La clave de API de la fuente necesita permiso de escritura.',
  written: 'Escrito en la colección «{collection}».',
  added: { one: '{count} elemento nuevo', other: '{count} elementos nuevos' },
  linked: {
    one: '{count} elemento de la biblioteca añadido a la colección',
    other: '{count} elementos de la biblioteca añadidos a la colección',
  },
  unchanged: { one: '{count} ya estaba', other: '{count} ya estaban' },
  failed: { one: '{count} no se pudo escribir', other: '{count} no se pudieron escribir' },
};
