import { c } from './i18n/check';
import { en, type CheckKey } from './i18n/check.en';
import { language } from './i18n/index.svelte';
import type { Step } from './turn';

const isKey = (key: string): key is CheckKey => key in en;
function byKind(s: Pick<Step, 'kind' | 'label'>): string {
  const key = `step.${s.kind}`;
  return isKey(key) ? c(key) : s.label;
}

/** What a running step adds to its label: " · 12 s · 40 words". */
const progress = / · (\d+) s(?: · ([\d,]+) words?)?$/;

/**
 * The label of a step. English shows the server's label. Other languages have a text for each kind of step, and keep
 * the section, its title and the progress from the server's label.
 */
export function stepLabel(s: Pick<Step, 'kind' | 'label'>): string {
  if (language() === 'en') return s.label || byKind(s);
  const [suffix, seconds, words] = progress.exec(s.label) ?? [''];
  const label = s.label.slice(0, s.label.length - suffix.length);
  const running = seconds ? ` · ${seconds} s` : '';
  const written = words ? ` · ${c('step_words', { count: Number(words.replaceAll(',', '')) })}` : '';
  return translate({ kind: s.kind, label }) + running + written;
}

function translate(s: Pick<Step, 'kind' | 'label'>): string {
  const outline = /^Outline: (\d+) sections?: (.+)$/s.exec(s.label);
  if (outline) return c('step_outline', { count: Number(outline[1]), titles: outline[2]! });
  const section = /^Section (\d+) of (\d+): (.+): (.+?)$/s.exec(s.label);
  if (!section) return byKind(s);
  const [, n, of, title, rest] = section;
  return `${c('step_section', { n: n!, of: of!, title: title! })}: ${byKind({ kind: s.kind, label: rest! })}`;
}
