import DOMPurify from 'dompurify';
import { Marked, type TokenizerAndRendererExtension } from 'marked';
import { t } from './i18n/index.svelte';

const escape = (s: string) => s.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** Renders `[3]` as a button. The component around it opens the source. */
const cite: TokenizerAndRendererExtension = {
  name: 'cite',
  level: 'inline',
  start: (s) => s.match(/\[\d{1,3}\](?!\()/)?.index,
  tokenizer(src) {
    const m = /^\[(\d{1,3})\](?!\()/.exec(src);
    return m ? { type: 'cite', raw: m[0], n: m[1] } : undefined;
  },
  renderer: (token) =>
    `<button type="button" class="cite" data-cite="${token.n}" ` +
    `aria-label="${escape(t('open_source_n', { n: String(token.n) }))}">${token.n}</button>`,
};

function math(name: string, level: 'block' | 'inline', pattern: RegExp, start: RegExp): TokenizerAndRendererExtension {
  return {
    name,
    level,
    start: (s) => {
      const i = s.search(start);
      return i < 0 ? undefined : i;
    },
    tokenizer(src) {
      const m = pattern.exec(src);
      return m ? { type: name, raw: m[0], tex: m[1] } : undefined;
    },
    renderer: (token) =>
      `<span class="math" data-tex="${escape(token.tex)}" data-display="${level === 'block'}">` +
      `${escape(token.tex)}</span>`,
  };
}

const markdown = new Marked({ gfm: true, breaks: false });
// HTML in a model's answer is shown as text. It never becomes an element, so sanitizing is only the second defence.
markdown.use({ renderer: { html: (token) => escape(token.text) } });
markdown.use({
  extensions: [
    cite,
    math('mathBlock', 'block', /^\$\$([\s\S]+?)\$\$(?:\n|$)/, /(?<=\n)\$\$[\s\S]+?\$\$(?:\n|$)/),
    math('mathDouble', 'inline', /^\$\$([^$\n]+?)\$\$/, /\$\$/), // a formula in the middle of a line
    math('mathInline', 'inline', /^\$([^\s$](?:[^$\n]*[^\s$])?)\$(?!\d)/, /\$/),
  ],
});

/**
 * Splits a text into top-level blocks, so that a growing answer re-renders only its last block. `start` is an offset in
 * the text, where CRLF counts as one character.
 */
export function blocks(text: string): { source: string; start: number }[] {
  let start = 0;
  return markdown
    .lexer(text)
    .map((token) => ({ source: token.raw, start: (start += token.raw.length) - token.raw.length }))
    .filter((b) => b.source.trim() !== '');
}

/** Renders Markdown to safe HTML. Images are removed: loading them would reveal the reader to other servers. */
export function render(src: string): string {
  return DOMPurify.sanitize(markdown.parse(src, { async: false }), {
    RETURN_TRUSTED_TYPE: true,
    FORBID_TAGS: ['style', 'form', 'input', 'img', 'svg', 'math', 'video', 'audio'],
    FORBID_ATTR: ['style'],
    ADD_ATTR: ['target'],
  }) as unknown as string;
}

/**
 * Adds link targets, copy buttons, MathML and syntax colours to rendered Markdown. KaTeX and the highlighter load on
 * demand. MathML needs no fonts and no inline styles, which the content security policy forbids.
 */
export async function enhance(el: HTMLElement): Promise<void> {
  for (const a of el.querySelectorAll<HTMLAnchorElement>('a[href]')) {
    if (a.origin !== location.origin) {
      a.target = '_blank';
      a.rel = 'noreferrer';
    }
  }
  for (const pre of el.querySelectorAll('pre')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy-code';
    button.textContent = t('copy');
    button.dataset.copy = '';
    pre.append(button);
    pre.tabIndex = 0; // makes horizontal scrolling reachable by keyboard
  }
  await Promise.all([renderMath(el), highlightCode(el)]);
}

async function renderMath(el: HTMLElement): Promise<void> {
  const found = el.querySelectorAll<HTMLElement>('.math');
  if (!found.length) return;
  const { default: katex } = await import('katex');
  for (const m of found) {
    const html = katex.renderToString(m.dataset.tex ?? '', {
      output: 'mathml',
      displayMode: m.dataset.display === 'true',
      throwOnError: false,
    });
    m.innerHTML = DOMPurify.sanitize(html, {
      RETURN_TRUSTED_TYPE: true,
      USE_PROFILES: { html: true, mathMl: true },
      ADD_TAGS: ['semantics', 'annotation'],
      FORBID_ATTR: ['style'],
    }) as unknown as string;
  }
}

async function highlightCode(el: HTMLElement): Promise<void> {
  const found = el.querySelectorAll<HTMLElement>('pre code[class*=language-]');
  if (!found.length) return;
  const { highlight } = await import('./highlight');
  for (const code of found) {
    const html = highlight(code.textContent ?? '', /language-(\w+)/.exec(code.className)?.[1] ?? '');
    if (html) code.innerHTML = DOMPurify.sanitize(html, { RETURN_TRUSTED_TYPE: true }) as unknown as string;
  }
}
