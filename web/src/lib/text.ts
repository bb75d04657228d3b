/** Splits a text at two offsets. The API counts code points, JavaScript UTF-16 units. */
export function splitAt(text: string, start: number, end: number): [string, string, string] {
  const points = Array.from(text);
  return [points.slice(0, start).join(''), points.slice(start, end).join(''), points.slice(end).join('')];
}

/** Splits a text into highlighted and plain parts. Overlapping and out-of-range spans are ignored. */
export function highlightParts(
  text: string,
  spans: { start: number; end: number }[],
): { text: string; hit: boolean }[] {
  const points = Array.from(text);
  const out: { text: string; hit: boolean }[] = [];
  let at = 0;
  for (const s of [...spans].sort((a, b) => a.start - b.start)) {
    if (s.start < at || s.end > points.length || s.end <= s.start) continue;
    if (s.start > at) out.push({ text: points.slice(at, s.start).join(''), hit: false });
    out.push({ text: points.slice(s.start, s.end).join(''), hit: true });
    at = s.end;
  }
  if (at < points.length) out.push({ text: points.slice(at).join(''), hit: false });
  return out;
}

/** The length in code points, as the API counts it. */
export const codePoints = (text: string): number => Array.from(text).length;

/** Copies a text to the clipboard. It returns false if the browser does not allow it. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
