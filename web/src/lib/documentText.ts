/** A range of a document's text in UTF-16 offsets; the end is exclusive. */
export type Extent = { start: number; end: number };

/** A block of a document's text. Extents exclude the marks of headings, items and cells. */
export type Block =
  | { kind: 'heading'; level: number; text: Extent }
  | { kind: 'paragraph'; text: Extent }
  | { kind: 'list'; items: { marker: string; depth: number; text: Extent }[] }
  | { kind: 'table'; head?: Extent[]; rows: Extent[][] }
  | { kind: 'page'; n: number };

const HEADING = /^(#{1,6}) +(?=\S)/;
const ITEM = /^( *)(-|\d{1,9}\.) +(?=\S)/;
const ROW = /^\|.*\|$/;
const RULE = /^\|(?: *:?-+:? *\|)+$/;

type Line = Extent & { text: string };

function* linesOf(text: string): Generator<Line> {
  for (let start = 0; start <= text.length;) {
    let end = text.indexOf('\n', start);
    if (end < 0) end = text.length;
    const line = text.slice(start, end).replace(/\r$/, '');
    yield { start, end: start + line.length, text: line };
    start = end + 1;
  }
}

/** The cells of a table row, without the white space around them. */
function cellsOf(line: Line): Extent[] {
  const out: Extent[] = [];
  let at = 1;
  for (const cell of line.text.slice(1, -1).split('|')) {
    const lead = cell.length - cell.trimStart().length;
    const start = line.start + at + lead;
    out.push({ start, end: start + cell.trim().length });
    at += cell.length + 1;
  }
  return out;
}

/** Reads the blocks of one page. The text begins at offset `base` of the document. */
function blocksOfPage(page: string, base: number): Block[] {
  const out: Block[] = [];
  const lines = [...linesOf(page)].map((l) => ({ ...l, start: l.start + base, end: l.end + base }));
  const isBlank = (i: number) => !lines[i]?.text.trim();
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    if (isBlank(i)) continue;
    const heading = HEADING.exec(line.text);
    if (heading && isBlank(i - 1) && isBlank(i + 1)) {
      const start = line.start + heading[0].length;
      out.push({ kind: 'heading', level: heading[1]!.length, text: { start, end: line.end } });
      continue;
    }
    const next = readRun(lines, i, out) ?? readParagraph(lines, i, out);
    i = next - 1;
  }
  return out;
}

/** Reads a table or a list that begins at a line. It returns the number of the line after it. */
function readRun(lines: Line[], from: number, out: Block[]): number | undefined {
  let i = from;
  if (ROW.test(lines[i]!.text) && ROW.test(lines[i + 1]?.text ?? '')) {
    while (ROW.test(lines[i]?.text ?? '')) i++;
    const rows = lines.slice(from, i);
    const hasHead = RULE.test(rows[1]!.text);
    const body = rows.slice(hasHead ? 2 : 0).filter((l) => !RULE.test(l.text));
    out.push({ kind: 'table', head: hasHead ? cellsOf(rows[0]!) : undefined, rows: body.map(cellsOf) });
    return i;
  }
  const items: Extract<Block, { kind: 'list' }>['items'] = [];
  for (let m = ITEM.exec(lines[i]!.text); m; m = ITEM.exec(lines[++i]?.text ?? '')) {
    const start = lines[i]!.start + m[0].length;
    items.push({ marker: m[2]!, depth: m[1]!.length >> 1, text: { start, end: lines[i]!.end } });
  }
  if (!items.length) return undefined;
  out.push({ kind: 'list', items });
  return i;
}

function readParagraph(lines: Line[], from: number, out: Block[]): number {
  let i = from + 1;
  while (i < lines.length && lines[i]!.text.trim() && !ROW.test(lines[i]!.text) && !ITEM.test(lines[i]!.text)) i++;
  out.push({ kind: 'paragraph', text: { start: lines[from]!.start, end: lines[i - 1]!.end } });
  return i;
}

/**
 * Reads the structure of a document's text. Headings, list items and tables are marked as in Markdown, and a form feed
 * ends a page.
 */
export function blocksOf(text: string): Block[] {
  const pages = text.split('\f');
  let base = 0;
  return pages.flatMap((page, i) => {
    const blocks = blocksOfPage(page, base);
    base += page.length + 1;
    return pages.length > 1 ? [{ kind: 'page', n: i + 1 } as const, ...blocks] : blocks;
  });
}

/** Splits an extent at the edges of a marked range: before it, in it, after it. */
export function splitExtent(text: string, e: Extent, marked?: Extent): [string, string, string] {
  if (!marked || marked.end <= e.start || marked.start >= e.end) return [text.slice(e.start, e.end), '', ''];
  const start = Math.max(e.start, marked.start);
  const end = Math.min(e.end, marked.end);
  return [text.slice(e.start, start), text.slice(start, end), text.slice(end, e.end)];
}

/** Pages with shorter lines, such as title pages and poems, keep their line ends. */
const MIN_WIDTH = 40;
/** A line of at least this share of the page's longest line continues on the next one. */
const FULL_LINE = 0.75;

/**
 * Joins the lines of paragraphs that were broken to fit the width of a page. Short lines, such as headings, keep their
 * end. Offsets do not change.
 */
export function joinLines(text: string, blocks: Block[]): string {
  const ends = new Set<number>();
  let page: Line[] = [];
  const flush = () => {
    const width = Math.max(0, ...page.map((l) => l.text.length));
    if (width >= MIN_WIDTH) for (const l of page) if (l.text.length >= FULL_LINE * width) ends.add(l.end);
    page = [];
  };
  for (const b of blocks) {
    if (b.kind === 'page') flush();
    if (b.kind !== 'paragraph') continue;
    for (const l of linesOf(text.slice(b.text.start, b.text.end)))
      page.push({ text: l.text, start: l.start + b.text.start, end: l.end + b.text.start });
  }
  flush();
  return text.replace(/\n/g, (end, at: number) => (ends.has(at) ? ' ' : end));
}
