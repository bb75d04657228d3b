// The API reference that the server renders from the contract.
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { demo, eventually, test } from './harness.mjs';
import { checkPage, variants } from './check-page.mjs';

// axe takes a minute for each variant of this long page.
for (const variant of ['light, 1280 px', 'dark, 390 px']) {
  test(`the API reference is accessible and fits, ${variant}`, async (open) => {
    const page = await open(demo, '/docs', { ...variants[variant], bypassCSP: true });
    // axe skips articles that are not laid out.
    await page.addStyleTag({ content: '.operation, .schema { content-visibility: visible !important }' });
    await page.getByRole('combobox').fill('memory');
    await checkPage(page, 'the API reference with the results of a search');
  });
}

test('the API reference is searched with the keyboard', async (open) => {
  const page = await open(demo, '/docs');
  const search = page.getByRole('combobox', { name: 'Search the reference' });
  await page.keyboard.press('/');
  assert.ok(await search.evaluate((e) => e === document.activeElement));
  assert.equal(await search.inputValue(), '');

  const options = page.getByRole('option');
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
  await eventually(async () => assert.equal(await page.getByText('No results').textContent(), 'No results'));

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
  const request = page.locator('#listMemories pre[aria-label^="Request"]:visible');
  assert.match(await request.textContent(), /^curl /);
  await page.getByRole('radio', { name: 'Python' }).check();
  await eventually(async () => assert.equal(await request.textContent(), 'reply = carrel.list_memories(agent_id)'));
  await page.reload();
  assert.ok(await page.getByRole('radio', { name: 'Python' }).isChecked());
  assert.equal(await request.textContent(), 'reply = carrel.list_memories(agent_id)');
  await page.getByRole('radio', { name: 'CLI' }).check();
  await eventually(async () => assert.equal(await request.textContent(), 'carrel memories --agent "$AGENT_ID"'));
  await page.locator('#listMemories').getByRole('button', { name: 'Copy' }).first().click();
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await eventually(async () => assert.equal(await copied(), 'carrel memories --agent "$AGENT_ID"'));
});

test('the API reference can be read without scripts', async (open) => {
  const page = await open(demo, '/docs', { javaScriptEnabled: false });
  await page.getByRole('radio', { name: 'TypeScript' }).check();
  const request = page.locator('#listMemories pre[aria-label^="Request"]:visible');
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
