import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { api, eventually, slow, test } from './harness.mjs';
import { checkPage, variants } from './check-page.mjs';

/** Takes a screenshot if a folder for them is set. */
async function shot(page, name) {
  const folder = process.env.CARREL_WEB_SHOTS;
  if (folder) await page.screenshot({ path: `${folder}/${name.replaceAll(/[ ,]+/g, '-')}.png` });
}

test('a chat is shared with a link, and the link is revoked', async (open) => {
  const page = await open(slow, '/chat');
  const { agents } = await api(page, 'GET', '/api/agents');
  const agent = agents[0].id;
  const { thread } = await api(page, 'POST', `/api/agents/${agent}/threads`, { title: 'Shared chat' });
  await api(page, 'POST', `/api/agents/${agent}/threads/${thread.id}/messages`, { text: 'A shared question' });
  await page.goto(`${slow.url}/chat/${thread.id}?agent=${agent}`);
  await page.getByRole('button', { name: 'Chat options: Shared chat' }).click();
  await page.getByRole('button', { name: 'Share…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Share chat' });
  await dialog.getByLabel('Expires').selectOption('7');
  await dialog.getByRole('button', { name: 'Create link' }).click();
  const address = await dialog.locator('code').textContent();
  await dialog.getByText(/expires/).waitFor();
  for (const [name, variant] of Object.entries(variants)) {
    const reader = await page
      .context()
      .browser()
      .newContext({
        viewport: { width: variant.width ?? 1280, height: variant.height ?? 800 },
        colorScheme: variant.dark ? 'dark' : 'light',
        bypassCSP: true,
      });
    const shared = await reader.newPage();
    await shared.goto(address);
    await shared.getByRole('heading', { name: 'Shared chat', level: 1 }).waitFor();
    await shared.getByText('A shared question').first().waitFor();
    await checkPage(shared, `the shared page, ${name}`);
    await shot(shared, name);
    await reader.close();
  }
  await shot(page, 'dialog');
  await page.keyboard.press('Escape');
  for (const [name, variant] of Object.entries(variants)) {
    const shown = await open(slow, '/settings/links', { ...variant, bypassCSP: true });
    await shot(shown, `links-${name}`);
    await shown.getByRole('link', { name: 'Shared chat' }).waitFor();
    await checkPage(shown, `the list of links, ${name}`);
  }
  await page.goto(`${slow.url}/settings/links`);
  await page.getByRole('button', { name: /Revoke.*Shared chat/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('No links').waitFor();
  assert.equal((await page.request.get(address)).status(), 404);
  await api(page, 'DELETE', `/api/agents/${agent}/threads/${thread.id}`);
});

test('a long answer has contents and is exported alone in three formats', async (open) => {
  const page = await open(slow, '/chat');
  const { agents } = await api(page, 'GET', '/api/agents');
  const agent = agents[0].id;
  const { thread } = await api(page, 'POST', `/api/agents/${agent}/threads`, { title: 'A report' });
  const filler = 'A sentence that fills the page. '.repeat(60);
  const text = `x\n\n## Origins\n\n${filler}\n\n### Limits\n\n${filler}\n\n## Uses\n\n${filler}`;
  await api(page, 'POST', `/api/agents/${agent}/threads/${thread.id}/messages`, { text });
  for (const [name, variant] of Object.entries(variants)) {
    const shown = await open(slow, `/chat/${thread.id}?agent=${agent}`, { ...variant, bypassCSP: true });
    const contents = shown.getByRole('navigation', { name: 'Contents' });
    await contents.getByRole('link', { name: 'Uses' }).click();
    const heading = shown.getByRole('heading', { name: 'Uses' });
    await eventually(async () => assert.ok(await heading.evaluate((h) => h === document.activeElement)));
    await checkPage(shown, `a report, ${name}`);
    await shot(shown, `report-${name}`);
  }
  await page.goto(`${slow.url}/chat/${thread.id}?agent=${agent}`);
  for (const [label, start] of [
    ['Export as Markdown', '# A report'],
    ['Export as Word', 'PK'],
    ['Export as PDF', '%PDF-1.7'],
  ]) {
    await page.getByRole('navigation', { name: 'Contents' }).getByRole('button', { name: 'Export answer' }).click();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('navigation', { name: 'Contents' }).getByRole('link', { name: label }).click(),
    ]);
    const bytes = readFileSync(await file.path());
    assert.equal(bytes.subarray(0, start.length).toString(), start, label);
  }
  await api(page, 'DELETE', `/api/agents/${agent}/threads/${thread.id}`);
});
