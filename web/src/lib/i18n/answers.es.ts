import type { Text } from './en';
import type { AnswersKey } from './answers.en';

export const es: Record<AnswersKey, Text> = {
  sources: { one: '{count} fuente', other: '{count} fuentes' },
  no_year: 'Sin año',
  open_at_quote: 'Abrir en el fragmento',
  open_quote: 'Abrir la fuente {n} en el fragmento:',
  attached: 'Archivos adjuntos',
  waiting: 'En espera',
  uploading: 'Subiendo {percent}',
  reading: 'Leyendo el archivo',
  indexing: 'Añadiéndolo al índice de búsqueda',
  ready: 'Listo',
  refused: 'No se pudo leer: {reason}',
  no_documents: 'El archivo no tiene texto que buscar.',
  remove_file: 'Quitar {name}',
  retry_file: 'Reintentar {name}',
  file_ready: '{name} está listo. Haz tu pregunta.',
};
