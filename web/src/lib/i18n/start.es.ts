import type { Text } from './en';
import type { StartKey } from './start.en';

export const es: Record<StartKey, Text> = {
  title: 'Primeros pasos',
  text:
    'Cuatro pasos breves hasta tu primera respuesta con fuentes. Puedes salir cuando quieras y continuar más ' +
    'tarde.',
  steps: 'Pasos',
  step_of: 'Paso {n} de {total}',
  done: 'hecho',
  'step.name': 'Nombre',
  'step.documents': 'Documentos',
  'step.import': 'Importación',
  'step.question': 'Primera pregunta',
  name_title: 'Pon nombre a tu agente',
  name_text: 'Un agente responde preguntas a partir de sus propios documentos. Ponle el nombre de su tema.',
  name_placeholder: 'Por ejemplo «Bibliografía» o «Manual del equipo»',
  documents_title: 'Añade documentos a {agent}',
  documents_text: 'PDF, Word, EPUB, Markdown, HTML, BibTeX y más. Bastan unos pocos archivos para empezar.',
  other_source: 'Conectar otra fuente',
  other_source_text: 'Una página web, un canal de noticias, Zotero, OpenAlex, arXiv, Wikipedia y otras.',
  nothing_imported: 'No se pudo leer ninguno de los archivos. Los motivos están abajo; prueba con otros archivos.',
  import_title: 'Leyendo tus documentos',
  import_text:
    'Carrel lee los archivos y permite buscar en ellos. Puedes salir de esta página; la importación continúa.',
  question_title: '{agent} está listo',
  question_text: {
    one: 'Ya se puede buscar en {count} documento. Prueba una pregunta que responde:',
    other: 'Ya se puede buscar en {count} documentos. Prueba una pregunta que responden:',
  },
  live_text: 'La fuente está conectada. Haz una pregunta sobre lo que contiene.',
  no_questions: 'Ya se puede buscar en los documentos. Haz una pregunta sobre lo que contienen.',
  own_question: 'Hacer tu propia pregunta',
  more_documents: 'Añadir más documentos',
  next: 'Continuar',
  later: 'Terminar más tarde',
  continue_title: 'Este agente aún no tiene documentos',
  continue_text: 'Añade algunos y Carrel propone las primeras preguntas.',
  continue: 'Continuar la configuración',
  no_model: 'No hay ningún modelo de lenguaje conectado. Carrel cita tus fuentes.',
  model: 'Modelo de este agente',
  model_changed: '{agent} usa ahora {model}.',
  connect_model: 'Conectar un modelo',
};
