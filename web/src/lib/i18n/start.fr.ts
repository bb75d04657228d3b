import type { Text } from './en';
import type { StartKey } from './start.en';

export const fr: Record<StartKey, Text> = {
  title: 'Premiers pas',
  text:
    'Quatre courtes étapes jusqu’à votre première réponse avec sources. Vous pouvez partir à tout moment et ' +
    'continuer plus tard.',
  steps: 'Étapes',
  step_of: 'Étape {n} sur {total}',
  done: 'terminée',
  'step.name': 'Nom',
  'step.documents': 'Documents',
  'step.import': 'Importation',
  'step.question': 'Première question',
  name_title: 'Nommez votre agent',
  name_text: 'Un agent répond aux questions à partir de ses propres documents. Donnez-lui le nom de son sujet.',
  name_placeholder: 'Par exemple « Bibliographie » ou « Manuel de l’équipe »',
  documents_title: 'Ajoutez des documents à {agent}',
  documents_text: 'PDF, Word, EPUB, Markdown, HTML, BibTeX et autres. Quelques fichiers suffisent pour commencer.',
  other_source: 'Connecter une autre source',
  other_source_text: 'Une page web, un flux, Zotero, OpenAlex, arXiv, Wikipédia et d’autres.',
  nothing_imported: 'Aucun des fichiers n’a pu être lu. Les raisons sont ci-dessous ; essayez d’autres fichiers.',
  import_title: 'Lecture de vos documents',
  import_text:
    'Carrel lit les fichiers et permet d’y chercher. Vous pouvez quitter cette page ; l’importation continue.',
  question_title: '{agent} est prêt',
  question_text: {
    one: 'Vous pouvez chercher dans {count} document. Essayez une question à laquelle il répond :',
    other: 'Vous pouvez chercher dans {count} documents. Essayez une question à laquelle ils répondent :',
  },
  live_text: 'La source est connectée. Posez une question sur ce qu’elle contient.',
  no_questions: 'Vous pouvez chercher dans les documents. Posez une question sur ce qu’ils contiennent.',
  own_question: 'Poser votre propre question',
  more_documents: 'Ajouter d’autres documents',
  next: 'Continuer',
  later: 'Terminer plus tard',
  continue_title: 'Cet agent n’a pas encore de documents',
  continue_text: 'Ajoutez-en, et Carrel propose les premières questions.',
  continue: 'Poursuivre la configuration',
  no_model: 'Aucun modèle de langage n’est connecté. Carrel cite vos sources.',
  model: 'Modèle de cet agent',
  model_changed: '{agent} utilise maintenant {model}.',
  connect_model: 'Connecter un modèle',
};
