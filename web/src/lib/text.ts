/** Offsets of the API count code points; those of JavaScript count halves of some. This cuts by code points. */
export function cut(text: string, start: number, end: number): [string, string, string] {
  const points = Array.from(text);
  return [points.slice(0, start).join(''), points.slice(start, end).join(''), points.slice(end).join('')];
}

/** Splits a text at spans, so that every second piece is one. Spans that overlap or lie outside are left out. */
export function pieces(text: string, spans: { start: number; end: number }[]): { text: string; hit: boolean }[] {
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

/** How long a text is for the API. */
export const length = (text: string): number => Array.from(text).length;

/** Puts a text on the clipboard; false where the browser does not let us. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
