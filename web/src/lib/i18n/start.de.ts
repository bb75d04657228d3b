import type { Text } from './en';
import type { StartKey } from './start.en';

/** German texts of the first steps with a new agent. */
export const de: Record<StartKey, Text> = {
  title: 'Erste Schritte',
  text: 'Vier kurze Schritte zur ersten Antwort mit Belegen. Sie können jederzeit unterbrechen und später fortfahren.',
  steps: 'Schritte',
  step_of: 'Schritt {n} von {total}',
  done: 'erledigt',
  'step.name': 'Name',
  'step.documents': 'Dokumente',
  'step.import': 'Import',
  'step.question': 'Erste Frage',
  name_title: 'Geben Sie Ihrem Agenten einen Namen',
  name_text: 'Ein Agent beantwortet Fragen aus seinen eigenen Dokumenten. Benennen Sie ihn nach seinem Thema.',
  name_placeholder: 'Zum Beispiel „Literatur“ oder „Teamhandbuch“',
  documents_title: 'Dokumente zu {agent} hinzufügen',
  documents_text: 'PDF, Word, EPUB, Markdown, HTML, BibTeX und mehr. Für den Anfang reichen wenige Dateien.',
  other_source: 'Andere Quelle verbinden',
  other_source_text: 'Eine Webseite, ein Feed, Zotero, OpenAlex, arXiv, Wikipedia und andere.',
  nothing_imported: 'Keine der Dateien konnte gelesen werden. Die Gründe stehen unten; versuchen Sie andere Dateien.',
  import_title: 'Ihre Dokumente werden gelesen',
  import_text:
    'Carrel liest die Dateien und macht sie durchsuchbar. Sie können diese Seite verlassen; der Import läuft weiter.',
  question_title: '{agent} ist bereit',
  question_text: {
    one: '{count} Dokument ist durchsuchbar. Probieren Sie eine Frage, die es beantwortet:',
    other: '{count} Dokumente sind durchsuchbar. Probieren Sie eine Frage, die sie beantworten:',
  },
  live_text: 'Die Quelle ist verbunden. Stellen Sie eine Frage zu ihren Themen.',
  no_questions: 'Die Dokumente sind durchsuchbar. Stellen Sie eine Frage zu ihren Themen.',
  own_question: 'Eigene Frage stellen',
  more_documents: 'Weitere Dokumente hinzufügen',
  next: 'Weiter',
  later: 'Später fortfahren',
  continue_title: 'Dieser Agent hat noch keine Dokumente',
  continue_text: 'Fügen Sie einige hinzu, dann schlägt Carrel die ersten Fragen vor.',
  continue: 'Einrichtung fortsetzen',
  no_model: 'Es ist kein Sprachmodell verbunden. Carrel zitiert aus Ihren Quellen.',
  model: 'Modell dieses Agenten',
  model_changed: '{agent} verwendet jetzt {model}.',
  connect_model: 'Modell verbinden',
};
