// The API reference that the server renders from the contract. Locators start at a part of the page, because Playwright
// computes the role and the visibility of every element in their scope.
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { demo, eventually, test } from './harness.mjs';
import { checkPage, variants } from './check-page.mjs';

/**
 * Removes articles and rows whose elements all occur in others: elements with the same tag, classes, role, parent and
 * overflow look and behave the same. axe takes a minute for the 50,000 elements of the whole page, which
 * CARREL_WEB_FULL=1 checks nevertheless.
 */
const keepOneOfEachKind = () => {
  const seen = new Set();
  const kind = (e) =>
    [e.localName, e.className, e.getAttribute('role'), e.scrollWidth > e.clientWidth, e.tabIndex].join(' ');
  const kinds = (e) => [...e.querySelectorAll('*'), e].map((x) => `${kind(x.parentElement)} > ${kind(x)}`);
  const repeated = '.operation, .schema, nav li, .paths li, .codes tr';
  const kindsOf = [...document.querySelectorAll(repeated)].map((e) => [e, kinds(e)]); // before the layout changes
  for (const [e, all] of kindsOf) {
    if (all.every((k) => seen.has(k))) e.remove();
    else for (const k of all) seen.add(k);
  }
};

/** The ids that occur twice, and the references to ids that do not exist. */
const unresolved = () => {
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  const known = new Set(ids);
  const twice = ids.length === known.size ? [] : ids.filter((id, i) => ids.indexOf(id) !== i);
  const references = ['aria-labelledby', 'aria-describedby', 'aria-controls', 'for', 'href'].flatMap((name) =>
    [...document.querySelectorAll(name === 'href' ? '[href^="#"]' : `[${name}]`)].flatMap((e) =>
      e.getAttribute(name).replace('#', '').split(' '),
    ),
  );
  return [...twice, ...new Set(references.filter((id) => !known.has(id)))];
};

for (const variant of ['light, 1280 px', 'light, 390 px', 'dark, 390 px']) {
  test(`the API reference is accessible and fits, ${variant}`, async (open) => {
    const page = await open(demo, '/docs', { ...variants[variant], bypassCSP: true });
    // axe skips articles that are not laid out.
    await page.addStyleTag({ content: '.operation, .schema { content-visibility: visible !important }' });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'no horizontal scroll');
    assert.deepEqual(await page.evaluate(unresolved), [], 'ids are unique, and references have a target');
    const all = await page.locator('.operation').count();
    if (!process.env.CARREL_WEB_FULL) await page.evaluate(keepOneOfEachKind);
    const kept = await page.locator('.operation').count();
    assert.ok(kept >= 5 && (kept < all / 2 || process.env.CARREL_WEB_FULL), `${kept} of ${all} operations are checked`);
    await page.locator('.find').getByRole('combobox').fill('memory');
    await checkPage(page, 'the API reference with the results of a search');
  });
}

test('the API reference is searched with the keyboard', async (open) => {
  const page = await open(demo, '/docs');
  const search = page.locator('.find').getByRole('combobox', { name: 'Search the reference' });
  await page.keyboard.press('/');
  assert.ok(await search.evaluate((e) => e === document.activeElement));
  assert.equal(await search.inputValue(), '');

  const options = page.locator('#hits').getByRole('option');
  const finds = async (query, title) => {
    await search.fill(query);
    await eventually(async () => assert.match(await options.first().textContent(), title));
  };
  await finds('favourites export', /^Export .*\/favourites\/export$/); // a path
  await finds('turn_working', /^turn_working/); // a problem code
  await finds('MemoryOrigin', /^MemoryOriginSchema/); // a schema
  await finds('Standard Webhooks', /webhook/i); // words of a text
  await finds('createThread', /^Start a thread/); // an operation by its id
  await search.fill('xyzzy');
  await eventually(async () =>
    assert.equal(await page.locator('.find').getByText('No results').textContent(), 'No results'),
  );

  await search.fill('send a message');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs#sendMessage');
  assert.ok(await page.locator('#sendMessage h3').isVisible());
  assert.equal(await search.getAttribute('aria-expanded'), 'false');
});

test('the language of the examples is kept', async (open) => {
  const page = await open(demo, '/docs');
  const request = page.locator('#listMemories').locator('pre[aria-label^="Request"]:visible');
  assert.match(await request.textContent(), /^curl /);
  await page.locator('.languages').getByRole('radio', { name: 'Python' }).check();
  await eventually(async () => assert.equal(await request.textContent(), 'reply = carrel.list_memories(agent_id)'));
  await page.reload();
  assert.ok(await page.locator('.languages').getByRole('radio', { name: 'Python' }).isChecked());
  assert.equal(await request.textContent(), 'reply = carrel.list_memories(agent_id)');
  await page.locator('.languages').getByRole('radio', { name: 'CLI' }).check();
  await eventually(async () => assert.equal(await request.textContent(), 'carrel memories --agent "$AGENT_ID"'));
  await page.locator('#listMemories').getByRole('button', { name: 'Copy' }).first().click();
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await eventually(async () => assert.equal(await copied(), 'carrel memories --agent "$AGENT_ID"'));
});

test('the API reference can be read without scripts', async (open) => {
  const page = await open(demo, '/docs', { javaScriptEnabled: false });
  await page.locator('.languages').getByRole('radio', { name: 'TypeScript' }).check();
  const request = page.locator('#listMemories').locator('pre[aria-label^="Request"]:visible');
  assert.equal(await request.textContent(), 'const reply = await carrel.listMemories(agentId);');
  assert.ok(!(await page.locator('.find').isVisible()), 'the search needs a script');
});

test('the API reference is small and loads only from its server', async (open) => {
  const page = await open(demo);
  const bodies = [];
  page.on('response', (r) => bodies.push(r.body().then((body) => [r.url(), gzipSync(body).length])));
  await page.goto(`${demo.url}/docs`);
  const sizes = await Promise.all(bodies);
  for (const [url] of sizes) assert.ok(url.startsWith(`${demo.url}/`), url);
  const total = sizes.reduce((sum, [, size]) => sum + size, 0);
  const { paths } = await (await page.request.get(`${demo.url}/openapi.json`)).json();
  const operations = Object.values(paths)
    .flatMap(Object.values)
    .filter((o) => o.operationId).length;
  assert.ok(total < 900 * operations, `${total} bytes for ${operations} operations: ${JSON.stringify(sizes)}`);
});
