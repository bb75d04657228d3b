import type { Text } from './en';

/** English texts of the first steps with a new agent. */
export const en = {
  title: 'Get started',
  text: 'Four short steps to your first answer with sources. You can leave at any time and continue later.',
  steps: 'Steps',
  step_of: 'Step {n} of {total}',
  done: 'done',
  'step.name': 'Name',
  'step.documents': 'Documents',
  'step.import': 'Import',
  'step.question': 'First question',
  name_title: 'Name your agent',
  name_text: 'An agent answers questions from its own documents. Name it after its subject.',
  name_placeholder: 'For example “Literature” or “Team handbook”',
  documents_title: 'Add documents to {agent}',
  documents_text: 'PDF, Word, EPUB, Markdown, HTML, BibTeX and more. A few files are enough to begin.',
  other_source: 'Connect another source',
  other_source_text: 'A web page, a feed, Zotero, OpenAlex, arXiv, Wikipedia and others.',
  nothing_imported: 'None of the files could be read. The reasons are below; try other files.',
  import_title: 'Reading your documents',
  import_text: 'Carrel reads the files and makes them searchable. You can leave this page; the import continues.',
  question_title: '{agent} is ready',
  question_text: {
    one: '{count} document is searchable. Try a question that it answers:',
    other: '{count} documents are searchable. Try a question that they answer:',
  },
  live_text: 'The source is connected. Ask a question about anything it covers.',
  no_questions: 'The documents are searchable. Ask a question about anything they cover.',
  own_question: 'Ask your own question',
  more_documents: 'Add more documents',
  next: 'Continue',
  later: 'Finish later',
  continue_title: 'This agent has no documents yet',
  continue_text: 'Add some, and Carrel suggests the first questions.',
  continue: 'Continue set-up',
  no_model: 'No language model is connected. Carrel quotes your sources.',
  model: 'Model of this agent',
  model_changed: '{agent} now uses {model}.',
  connect_model: 'Connect a model',
} satisfies Record<string, Text>;

export type StartKey = keyof typeof en;
