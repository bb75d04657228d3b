import type { Text } from './en';
import type { AnswersKey } from './answers.en';

export const fr: Record<AnswersKey, Text> = {
  sources: { one: '{count} source', other: '{count} sources' },
  no_year: 'Sans année',
  open_at_quote: 'Ouvrir à l’extrait',
  open_quote: 'Ouvrir la source {n} à l’extrait :',
  attached: 'Fichiers joints',
  waiting: 'En attente',
  uploading: 'Envoi : {percent}',
  reading: 'Lecture du fichier',
  indexing: 'Ajout à l’index de recherche',
  ready: 'Prêt',
  refused: 'Illisible : {reason}',
  no_documents: 'Le fichier ne contient pas de texte.',
  remove_file: 'Retirer {name}',
  retry_file: 'Réessayer {name}',
  file_ready: '{name} est prêt. Posez votre question.',
};
