import DOMPurify from 'dompurify';
import { Marked, type TokenizerAndRendererExtension } from 'marked';
import { t } from './i18n/index.svelte';

const escape = (s: string) => s.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** `[3]` in an answer becomes a button; the component around it opens the source. */
const cite: TokenizerAndRendererExtension = {
  name: 'cite',
  level: 'inline',
  start: (s) => s.match(/\[\d{1,3}\](?!\()/)?.index,
  tokenizer(src) {
    const m = /^\[(\d{1,3})\](?!\()/.exec(src);
    return m ? { type: 'cite', raw: m[0], n: m[1] } : undefined;
  },
  renderer: (token) =>
    `<button type="button" class="cite" data-cite="${token.n}" aria-label="${escape(t('open_source_n', { n: String(token.n) }))}">${token.n}</button>`,
};

function math(name: string, level: 'block' | 'inline', pattern: RegExp, hint: string): TokenizerAndRendererExtension {
  return {
    name,
    level,
    start: (s) => {
      const i = s.indexOf(hint);
      return i < 0 ? undefined : i;
    },
    tokenizer(src) {
      const m = pattern.exec(src);
      return m ? { type: name, raw: m[0], tex: m[1] } : undefined;
    },
    renderer: (token) =>
      `<span class="math" data-tex="${escape(token.tex)}" data-display="${level === 'block'}">${escape(token.tex)}</span>`,
  };
}

const markdown = new Marked({ gfm: true, breaks: false });
// Markup that a model writes is shown, not obeyed: what never becomes an element needs no taming.
markdown.use({ renderer: { html: (token) => escape(token.text) } });
markdown.use({
  extensions: [
    cite,
    math('mathBlock', 'block', /^\$\$([\s\S]+?)\$\$(?:\n|$)/, '$$'),
    math('mathInline', 'inline', /^\$([^\s$](?:[^$\n]*[^\s$])?)\$(?!\d)/, '$'),
  ],
});

/** Splits a text into its top-level blocks, so that a growing answer draws only its last one again. */
export const blocks = (text: string): string[] =>
  markdown
    .lexer(text)
    .map((token) => token.raw)
    .filter((raw) => raw.trim() !== '');

/** Draws Markdown. Images are left out: they would tell other servers who reads what. */
export function render(src: string): string {
  return DOMPurify.sanitize(markdown.parse(src, { async: false }), {
    RETURN_TRUSTED_TYPE: true,
    FORBID_TAGS: ['style', 'form', 'input', 'img', 'svg', 'math', 'video', 'audio'],
    FORBID_ATTR: ['style'],
    ADD_ATTR: ['target'],
  }) as unknown as string;
}

/** After insertion: mathematics as MathML, which needs no fonts and no inline style, and code in colour. Both come when needed. */
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
    pre.tabIndex = 0; // it scrolls sideways, and the keyboard has to be able to
  }
  await Promise.all([drawMath(el), colourCode(el)]);
}

async function drawMath(el: HTMLElement): Promise<void> {
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

async function colourCode(el: HTMLElement): Promise<void> {
  const found = el.querySelectorAll<HTMLElement>('pre code[class*=language-]');
  if (!found.length) return;
  const { highlight } = await import('./highlight');
  for (const code of found) {
    const html = highlight(code.textContent ?? '', /language-(\w+)/.exec(code.className)?.[1] ?? '');
    if (html) code.innerHTML = DOMPurify.sanitize(html, { RETURN_TRUSTED_TYPE: true }) as unknown as string;
  }
}
