import { align, shownRange, toUnits } from './align';
import { isMarked, isProblem, lastWord, signs, type Claim, type Judged, type Marking } from './sentences';

/** A sentence to mark in rendered Markdown. Offsets are UTF-16 units of the text that the parser sees. */
export type Mark = { start: number; end: number; verdict: Judged; index: number; label: string };

/** The claims to mark. A claim that overlaps an earlier one is left out. `label` returns the name of its button. */
export function marksOf(text: string, claims: Claim[], marking: Marking, label: (s: Claim) => string): Mark[] {
  const units = toUnits(
    text,
    claims.flatMap((s) => [s.start, s.end]),
  );
  const out: Mark[] = [];
  claims.forEach((s, index) => {
    const [start, end] = [units[2 * index]!, units[2 * index + 1]!];
    if (!isMarked(s.verdict, marking) || start < (out.at(-1)?.end ?? 0)) return;
    out.push({ start, end, verdict: s.verdict, index, label: label(s) });
  });
  return out;
}

/** The text with the verdict after each sentence that has a problem, for pasting elsewhere. */
export function withVerdicts(text: string, claims: Claim[], label: (v: Judged) => string): string {
  const lines = text.replaceAll('\r\n', '\n'); // offsets count a line break as one
  const problems = claims.filter((s) => isProblem(s.verdict)).sort((a, b) => a.end - b.end);
  const ends = toUnits(
    lines,
    problems.map((s) => s.end),
  );
  let out = '';
  let from = 0;
  problems.forEach((s, i) => {
    out += `${lines.slice(from, ends[i])} [${signs[s.verdict]} ${label(s.verdict)}]`;
    from = ends[i]!;
  });
  return out + lines.slice(from);
}

/** The text nodes of an element, without code blocks and formulas, which are replaced while they are rendered. */
function textNodes(el: HTMLElement): Text[] {
  const walker = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
  const out: Text[] = [];
  while (walker.nextNode()) {
    const node = walker.currentNode as Text;
    if (!node.parentElement?.closest('pre, .math')) out.push(node);
  }
  return out;
}

/**
 * Underlines sentences in a rendered block and adds a button with the verdict after each. `source` is the block's
 * Markdown, which begins at offset `at` of the text. It returns a function that removes the marks.
 */
export function addMarks(el: HTMLElement, source: string, at: number, marks: Mark[]): () => void {
  const here = marks.filter((m) => m.start < at + source.length && m.end > at);
  if (!here.length) return () => {};
  const nodes = textNodes(el);
  const positions = align(source, nodes.map((n) => n.data).join(''));
  const ranges = here.map((m) => ({ m, range: shownRange(positions, m.start - at, m.end - at) })).reverse();
  // From the end, so that splitting a node does not move the offsets before it.
  let offset = positions.length;
  for (const node of nodes.reverse()) {
    const end = offset;
    offset -= node.length;
    for (const { m, range } of ranges) {
      if (range && range[0] < end && range[1] > offset)
        underline(node, Math.max(range[0] - offset, 0), Math.min(range[1], end) - offset, m, range[1] <= end);
    }
  }
  return () => {
    for (const flag of el.querySelectorAll('.flag')) flag.remove();
    for (const span of el.querySelectorAll('.sentence, .keep-together')) span.replaceWith(...span.childNodes);
    el.normalize();
  };
}

/** Underlines a part of a text node. The last part of a sentence is followed by its button. */
function underline(node: Text, start: number, end: number, m: Mark, last: boolean): void {
  const cite = node.parentElement?.closest('button');
  if (cite) {
    if (last) cite.after(flagOf(m));
    return;
  }
  if (!node.data.slice(start, end).trim()) return; // between table cells
  const part = node.splitText(start);
  part.splitText(end - start);
  const shown = document.createElement('span');
  shown.className = 'sentence';
  shown.dataset.verdict = m.verdict;
  shown.dataset.sentence = String(m.index);
  part.replaceWith(shown);
  shown.append(part);
  if (last) shown.append(keepTogether(part.splitText(lastWord(part.data)), flagOf(m)));
}

/** Keeps the button of a sentence on the line of its last word. */
function keepTogether(word: Text, flag: HTMLElement): HTMLElement {
  const span = document.createElement('span');
  span.className = 'keep-together';
  span.append(word, flag);
  return span;
}

function flagOf(m: Mark): HTMLButtonElement {
  const flag = document.createElement('button');
  flag.type = 'button';
  flag.className = 'flag';
  flag.dataset.verdict = m.verdict;
  flag.dataset.sentence = String(m.index);
  flag.setAttribute('aria-label', m.label);
  flag.textContent = signs[m.verdict];
  return flag;
}
