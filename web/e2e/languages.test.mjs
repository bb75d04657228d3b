import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { agentOf, ask, demo, test } from './harness.mjs';
import { settled } from './check-page.mjs';
import { paths } from './paths.mjs';

const languages = { de: 'de-DE', es: 'es-ES', fr: 'fr-FR' };
const widths = [1280, 390];

/** Names, which are the same in every language. */
const names = new RegExp(
  'Carrel|OAuth|OpenID|JavaScript|Markdown|Webhook|SQLite|PostgreSQL|MCP|Stripe|Zotero|BibTeX|https?:|curl|' +
    'mcp-remote|Claude|ChatGPT|Cursor|VS Code|Gemini CLI|Codex|Inspector|Python|Chrome, Linux',
);

/** Whether a text is made of texts that a language has in common with English. */
const shared = JSON.parse(readFileSync(new URL('../src/lib/i18n/shared.json', import.meta.url), 'utf8'));
const isShared = (language, part) =>
  shared[language].some((text) => new RegExp(`^${text.replaceAll(/\{\w+\}/g, '.+')}s?$`).test(part));

/** Records the texts that the server sends, which are not the app's: names, titles, addresses. */
function recordData(page) {
  const data = new Set();
  const add = (value) => {
    if (typeof value === 'string') data.add(value);
    else if (value && typeof value === 'object') Object.values(value).forEach(add);
  };
  const pending = [];
  page.on('response', (r) => {
    if (/\/api\//.test(r.url()) && /json/.test(r.headers()['content-type'] ?? ''))
      pending.push(r.json().then(add, () => {}));
  });
  return async () => {
    await Promise.all(pending);
    return [...data];
  };
}

/** The texts of controls and headings of a page, and those among them that are cut off. */
const textsOn = (page) =>
  page.evaluate(() => {
    const found = new Set();
    const cut = new Set();
    const labelled = 'button, a, label, legend, h1, h2, h3, th, summary, option, dt, p';
    for (const element of document.querySelectorAll(labelled)) {
      if (!element.checkVisibility()) continue;
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const text = walker.currentNode.textContent.trim();
        const parent = walker.currentNode.parentElement;
        if (!text || parent.closest('pre, code, mark, [lang]:not(html)')) continue;
        found.add(text);
        const style = getComputedStyle(parent);
        if (style.overflowX !== 'visible' && parent.clientWidth > 1 && parent.scrollWidth > parent.clientWidth + 1)
          cut.add(text);
      }
    }
    for (const attribute of ['aria-label', 'placeholder', 'title', 'alt'])
      for (const element of document.querySelectorAll(`[${attribute}]`))
        if (element.checkVisibility()) found.add(element.getAttribute(attribute).trim());
    return { found: [...found], cut: [...cut] };
  });

/** Opens every page in a language and returns its texts and the cut ones by address. */
async function walk(open, locale) {
  const page = await open(demo, '/chat', { locale });
  const data = recordData(page);
  const agent = await agentOf(page);
  const texts = new Map();
  for (const path of [...paths, `/agents/${agent.id}`, `/sources/${agent.defaultSourceId}`]) {
    await page.setViewportSize({ width: widths[0], height: 800 });
    await page.goto(demo.url + path);
    for (const width of widths) {
      await page.setViewportSize({ width, height: 800 });
      await settled(page);
      texts.set(`${path} at ${width} px`, await textsOn(page));
    }
  }
  return { texts, data: await data() };
}

test('a text that is cut off is found', async (open) => {
  const page = await open(demo, '/settings/profile');
  await settled(page);
  await page.evaluate(() => {
    const p = document.body.appendChild(document.createElement('p'));
    p.textContent = 'Far too long for its place';
    Object.assign(p.style, { width: '40px', overflow: 'hidden', whiteSpace: 'nowrap' });
  });
  const { found, cut } = await textsOn(page);
  assert.ok(found.includes('Profile'));
  assert.deepEqual(cut, ['Far too long for its place']);
});

test('every language is complete, and no text is cut off', async (open) => {
  const first = await open(demo, '/chat');
  await ask(first, 'Who proposed the relational model?');
  const english = await walk(open, 'en-GB');
  const problems = [];
  for (const [language, locale] of Object.entries(languages)) {
    const other = await walk(open, locale);
    const data = [...english.data, ...other.data];
    const isData = (text) =>
      text
        .split(/ · | #|[:…#]/)
        .map((part) => part.trim())
        .every((part) => data.some((d) => d.includes(part)) || isShared(language, part));
    for (const [place, { found, cut }] of other.texts) {
      const original = english.texts.get(place).found;
      const untranslated = found.filter(
        (text) => original.includes(text) && /\p{L}{4}/u.test(text) && !names.test(text) && !isData(text),
      );
      for (const text of untranslated) problems.push(`${language} ${place}: not translated: ${text}`);
      for (const text of cut) if (!isData(text)) problems.push(`${language} ${place}: cut off: ${text}`);
    }
  }
  assert.deepEqual(problems, []);
});
