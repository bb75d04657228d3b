import { api, body } from './api';
import { splitAt } from './text';

/** A quote with the text of its paragraph before and after it. */
export type Passage = { before: string; quote: string; after: string };

const PARAGRAPH = /\n[^\S\n]*\n|\f/;
/** How much of a paragraph is shown on each side of the quote, in UTF-16 units. */
const ROOM = 180;

const oneLine = (text: string) => text.replace(/\s+/g, ' ');

/** The end of a text from the start of a word, with an ellipsis if something is left out. */
function tail(text: string): string {
  if (text.length <= ROOM) return text;
  const cut = text.slice(-ROOM);
  return `… ${cut.slice(cut.indexOf(' ') + 1)}`;
}

function head(text: string): string {
  if (text.length <= ROOM) return text;
  const cut = text.slice(0, ROOM);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), 0)) || cut} …`;
}

/** The paragraph around a quote, or undefined if the text has other words at its place. Offsets are code points. */
export function passageOf(text: string, start: number, end: number, quote: string): Passage | undefined {
  const [before, inside, after] = splitAt(text, start, end);
  if (!inside || oneLine(inside).trim() !== oneLine(quote).trim()) return undefined;
  return {
    before: tail(oneLine(before.split(PARAGRAPH).at(-1) ?? '').trimStart()),
    quote: oneLine(inside),
    after: head(oneLine(after.split(PARAGRAPH, 1)[0] ?? '').trimEnd()),
  };
}

/** The texts that were read last. A text may be long, so only a few are kept. */
const texts = new Map<string, Promise<string>>();
const MAX_TEXTS = 8;

/** The text of a document, or '' if it can't be read. */
export function textOf(agentId: string, documentId: string): Promise<string> {
  const known = texts.get(documentId);
  if (known) return known;
  const read = body(
    api.GET('/api/agents/{agentId}/documents/{documentId}', { params: { path: { agentId, documentId } } }),
  ).then(
    (reply) => reply.document.text,
    () => {
      texts.delete(documentId);
      return '';
    },
  );
  texts.set(documentId, read);
  if (texts.size > MAX_TEXTS) texts.delete(texts.keys().next().value!);
  return read;
}
