import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { agentOf, api, ask, demo, test } from './harness.mjs';
import { checkPage, variants } from './check-page.mjs';
import { paths } from './paths.mjs';

for (const [variant, options] of Object.entries(variants)) {
  test(`every page is accessible and fits, ${variant}`, async (open) => {
    // axe is injected, which the content security policy would block.
    const page = await open(demo, '/chat', { ...options, bypassCSP: true });
    const agent = await agentOf(page);
    await page.goto(`${demo.url}/chat?agent=${agent.id}`);
    await ask(page, 'Who proposed the relational model?');
    await checkPage(page, 'a conversation');
    await page.getByRole('button', { name: 'Open source 1' }).first().click();
    await page.locator('aside mark').waitFor();
    await checkPage(page, 'a source');
    await api(page, 'POST', `/api/agents/${agent.id}/memories`, { text: 'I prefer primary sources.' });
    await api(page, 'POST', '/api/account/export');
    for (const path of [...paths, `/agents/${agent.id}`, `/sources/${agent.defaultSourceId}`]) {
      await page.goto(demo.url + path);
      await checkPage(page, path);
    }
  });
}

test('unknown paths are 404, app paths are not', async (open) => {
  const page = await open(demo, '/chat', { expectErrors: true });
  for (const [path, want] of [
    ['/settings/nothing', 404],
    ['/nothing', 404],
    ['/chat/thr_unknown', 200],
    ...paths.map((p) => [p, 200]),
  ]) {
    assert.equal((await page.request.get(demo.url + path)).status(), want, path);
  }
  await page.goto(`${demo.url}/chat/thr_unknown`);
  await page.getByRole('alert').waitFor();
});

test('the app can be installed', async (open) => {
  const page = await open(demo, '/chat');
  const address = await page.locator('link[rel=manifest]').evaluate((l) => l.href);
  const manifest = await (await page.request.get(address)).json();
  for (const icon of manifest.icons)
    assert.equal((await page.request.get(new URL(icon.src, address).href)).status(), 200, icon.src);
  assert.equal(new URL(manifest.start_url, address).pathname, '/chat');
});

test('the first load has at most 70 kB of script', async (open) => {
  const page = await open(demo);
  const sizes = [];
  page.on('response', async (r) => {
    if (r.url().endsWith('.js')) sizes.push(r.body().then((b) => gzipSync(b).length));
  });
  await page.goto(`${demo.url}/chat`);
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  await page.waitForLoadState('networkidle');
  const total = (await Promise.all(sizes)).reduce((a, b) => a + b, 0);
  assert.ok(total > 10_000 && total <= 70 * 1024, `${total} bytes`);
});
