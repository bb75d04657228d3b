/** A range of a folded text: UTF-16 offsets, the end is exclusive. */
export type Range = { start: number; end: number };

/** The text of a page for comparisons. Unit i of `text` comes from unit `offset[i]` of item `item[i]`. */
export type Folded = { text: string; item: number[]; offset: number[] };

/** A part of a text item of a page. */
export type Part = { item: number; start: number; end: number };

/** A run of a quote must have this many units, so that a common word is not marked all over a page. */
const MIN_RUN = 16;

/** Case, accents, ligatures, white space and punctuation are ignored: they differ between a file and its text. */
const foldText = (s: string): string =>
  s
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{S}]/gu, '');

/** Folds the text items of a page. */
export function fold(items: string[]): Folded {
  const out: Folded = { text: '', item: [], offset: [] };
  items.forEach((s, item) => {
    let at = 0;
    for (const point of s) {
      const folded = foldText(point);
      for (let i = 0; i < folded.length; i++) {
        out.item.push(item);
        out.offset.push(at);
      }
      out.text += folded;
      at += point.length;
    }
  });
  return out;
}

/** The ranges of a page that contain a query, at most `limit`. */
export function findAll(page: Folded, query: string, limit: number): Range[] {
  const wanted = foldText(query);
  const out: Range[] = [];
  if (!wanted) return out;
  for (let at = page.text.indexOf(wanted); at >= 0 && out.length < limit;) {
    out.push({ start: at, end: at + wanted.length });
    at = page.text.indexOf(wanted, at + wanted.length);
  }
  return out;
}

/**
 * The ranges of a page that contain a quote. The order of the text in the file can differ from that of the extracted
 * text, so a quote that is not found whole is searched in runs of words.
 */
export function findQuote(page: Folded, quote: string): Range[] {
  const words = quote.split(/\s+/).map(foldText).filter(Boolean);
  const whole = findAll(page, quote, 1);
  return whole.length ? whole : findRuns(page.text, words);
}

function findRuns(page: string, words: string[]): Range[] {
  const out: Range[] = [];
  for (let i = 0; i < words.length;) {
    let seed = '';
    let next = i;
    while (next < words.length && seed.length < MIN_RUN) seed += words[next++];
    if (seed.length < MIN_RUN) break;
    let start = page.indexOf(seed, out.at(-1)?.end ?? 0);
    if (start < 0) start = page.indexOf(seed);
    if (start < 0) {
      i++;
      continue;
    }
    let end = start + seed.length;
    while (next < words.length && page.startsWith(words[next]!, end)) end += words[next++]!.length;
    out.push({ start, end });
    i = next;
  }
  return out;
}

const CLOSING = /^[.,;:!?%)\]}"”’»…]+/;

/** The parts of a page's text items in a range, with closing punctuation. `items` are the texts that were folded. */
export function partsOf(page: Folded, items: string[], range: Range): Part[] {
  const out: Part[] = [];
  for (let i = range.start; i < range.end; i++) {
    const item = page.item[i]!;
    const start = page.offset[i]!;
    const end = start + ((items[item]!.codePointAt(start) ?? 0) > 0xffff ? 2 : 1);
    const last = out.at(-1);
    if (last?.item === item) last.end = end;
    else out.push({ item, start, end });
  }
  for (const part of out) part.end += CLOSING.exec(items[part.item]!.slice(part.end))?.[0].length ?? 0;
  return out;
}

/**
 * The text of a range of a document by page. Offsets count code points; a form feed ends a page of the document's text.
 * The keys are page numbers from 1.
 */
export function quoteByPage(text: string, start: number, end: number): Map<number, string> {
  const points = Array.from(text);
  let page = 1;
  for (let i = 0; i < start; i++) if (points[i] === '\f') page++;
  const parts = points.slice(start, end).join('').split('\f');
  return new Map(parts.map((p, i): [number, string] => [page + i, p.trim()]).filter(([, p]) => p !== ''));
}
