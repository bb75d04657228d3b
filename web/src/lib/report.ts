import type { Step } from './turn';

export type Heading = { level: number; text: string };

/** The headings of an answer in Markdown, in their order and without markup. */
export function headingsOf(text: string): Heading[] {
  const out: Heading[] = [];
  let fence = '';
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark && !fence) fence = mark;
    else if (mark && mark.startsWith(fence)) fence = '';
    if (fence || mark) continue;
    const heading = /^ {0,3}(#{1,6})[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*$/.exec(line);
    if (heading) out.push({ level: heading[1]!.length, text: heading[2]!.replace(/\[\d{1,3}\]|[*_`~]/g, '').trim() });
  }
  return out;
}

/** An answer is shown with its contents if it has at least this many headings. */
const minHeadings = 3;

export const isReport = (text: string): boolean => text.includes('#') && headingsOf(text).length >= minHeadings;

export type Section = { title: string; state: 'done' | 'now' | 'open' };

/**
 * The sections of a report that is being written, from the labels of its steps: the outline lists the titles, and each
 * step of a section names its number.
 */
export function sectionsOf(steps: Pick<Step, 'label'>[]): Section[] {
  const outline = steps.map((s) => /^Outline: (\d+) sections?: (.+)$/s.exec(s.label)).findLast((x) => x);
  if (!outline) return [];
  const started = steps.map((s) => /^Section (\d+) of \d+: (.+): /s.exec(s.label)).filter((x) => x !== null);
  const now = Math.max(0, ...started.map((x) => Number(x[1])));
  const titles = outline[2]!.split('; ');
  return Array.from({ length: Number(outline[1]) }, (_, i) => ({
    // A title with a semicolon makes the list ambiguous; the steps of a section name it alone.
    title:
      titles.length === Number(outline[1])
        ? titles[i]!
        : (started.find((x) => Number(x[1]) === i + 1)?.[2] ?? String(i + 1)),
    state: i + 1 < now ? 'done' : i + 1 === now ? 'now' : 'open',
  }));
}
