/**
 * Converts offsets in code points, as the API counts them, to UTF-16 offsets in the text that the Markdown parser sees:
 * it replaces CRLF by LF. Offsets past the end become the length of the text.
 */
export function toUnits(text: string, offsets: number[]): number[] {
  const order = offsets.map((at, i) => ({ at, i })).sort((a, b) => a.at - b.at);
  const out = new Array<number>(offsets.length);
  let point = 0;
  let unit = 0;
  let next = 0;
  for (let i = 0; i < text.length; point++) {
    while (next < order.length && order[next]!.at <= point) out[order[next++]!.i] = unit;
    const width = text.codePointAt(i)! > 0xffff ? 2 : 1;
    if (text[i] !== '\r' || text[i + 1] !== '\n') unit += width;
    i += width;
  }
  while (next < order.length) out[order[next++]!.i] = unit;
  return out;
}

/** Syntax whose letters are not shown: addresses of links, languages of code blocks, lines under table heads. */
const hidden = /\]\([^)\n]*\)|^ {0,3}(?:```|~~~).*$|^[ \t]*\|?[ \t:|-]*-[ \t:|-]*$/gm;

/** How far the next shown character may be from the last one. A longer gap means that the character is not there. */
const MAX_GAP = 48;

/**
 * Finds the characters of rendered Markdown in its source. It returns the source offset of each UTF-16 unit of `shown`,
 * or -1 for white space and characters that the source does not have, such as decoded entities.
 */
export function align(source: string, shown: string): Int32Array {
  const out = new Int32Array(shown.length).fill(-1);
  const readable = source.replace(hidden, (s) => (s.startsWith('](') ? ']' : '').padEnd(s.length, '\n'));
  let from = 0;
  for (let i = 0; i < shown.length; i++) {
    const c = shown[i]!;
    if (/\s/.test(c)) continue;
    const at = findWithin(readable, c, from);
    if (at < 0) continue;
    out[i] = at;
    from = at + 1;
  }
  return out;
}

/** Finds a character at most MAX_GAP visible characters after an offset. */
function findWithin(text: string, c: string, from: number): number {
  for (let at = from, skipped = 0; at < text.length && skipped <= MAX_GAP; at++) {
    if (text[at] === c) return at;
    if (!/\s/.test(text[at]!)) skipped++;
  }
  return -1;
}

/** The part of the shown text that lies in a range of the source; undefined if there is none. The end is exclusive. */
export function shownRange(positions: Int32Array, start: number, end: number): [number, number] | undefined {
  const inside = (at: number) => at >= start && at < end;
  const first = positions.findIndex(inside);
  return first < 0 ? undefined : [first, positions.findLastIndex(inside) + 1];
}
