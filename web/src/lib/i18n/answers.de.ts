import type { AnswersKey } from './answers.en';
import type { Text } from './en';

/** German texts of the sources of answers and of files that are attached to questions. */
export const de: Record<AnswersKey, Text> = {
  sources: { one: '{count} Quelle', other: '{count} Quellen' },
  no_year: 'Ohne Jahr',
  open_at_quote: 'An der Textstelle öffnen',
  open_quote: 'Quelle {n} an der Textstelle öffnen:',
  attached: 'Angehängte Dateien',
  waiting: 'Wartet',
  uploading: 'Wird hochgeladen: {percent}',
  reading: 'Datei wird gelesen',
  indexing: 'Wird in den Suchindex aufgenommen',
  ready: 'Bereit',
  refused: 'Konnte nicht gelesen werden: {reason}',
  no_documents: 'Die Datei enthält keinen durchsuchbaren Text.',
  remove_file: '{name} entfernen',
  retry_file: '{name} erneut versuchen',
  file_ready: '{name} ist bereit. Stellen Sie Ihre Frage.',
};
