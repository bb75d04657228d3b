import assert from 'node:assert/strict';
import { agentOf, ask, demo, eventually, placeOf, removeAgent, slow, test } from './harness.mjs';

test('a new agent becomes the current one and leads to its documents', async (open) => {
  for (const [locale, create, empty, add] of [
    ['en-GB', 'Create agent', 'This agent has no documents yet.', 'Add documents'],
    ['de-DE', 'Agent erstellen', 'Dieser Agent hat noch keine Dokumente.', 'Dokumente hinzufügen'],
  ]) {
    const page = await open(slow, '/agents/new', { locale });
    await page.getByLabel('Name', { exact: true }).fill('Brand new');
    await page.getByRole('button', { name: create }).click();
    await page.waitForURL('**/agents/agt_*');
    const id = new URL(page.url()).pathname.split('/')[2];
    await page.getByText(empty).waitFor();
    await page.getByRole('link', { name: add }).click();
    await page.waitForURL(`**/sources?agent=${id}`);
    await page.goto(`${slow.url}/chat`);
    await eventually(async () => assert.equal(await page.getByText('Brand new').first().isVisible(), true));
    await removeAgent(page, id);
  }
});

test('an unknown address shows a page', async (open) => {
  for (const [locale, title] of [
    ['en-GB', 'Page not found'],
    ['de-DE', 'Seite nicht gefunden'],
  ]) {
    const page = await open(demo, '/settings/nothing', { locale, expectErrors: true });
    await page.getByRole('heading', { name: title }).waitFor();
  }
});

test('a toast covers neither the message nor its button', async (open) => {
  for (const options of [{}, { width: 390, height: 844 }]) {
    const page = await open(demo, '/chat', options);
    await page.goto(`${demo.url}/chat?agent=${(await agentOf(page)).id}`);
    await ask(page, 'Who proposed the relational model?');
    await page.getByRole('button', { name: 'Good answer' }).click();
    const toast = await placeOf(page.getByRole('status').locator('div').first());
    const field = await placeOf(page.getByRole('textbox', { name: 'Message' }));
    assert.ok(toast.y + toast.height < field.y, JSON.stringify({ toast, field }));
  }
});

test('the message field of a new chat has the focus', async (open) => {
  const page = await open(demo, '/chat');
  const field = page.getByRole('textbox', { name: 'Message' });
  await eventually(async () => assert.ok(await field.evaluate((f) => f === document.activeElement)));
  await page.goto(`${demo.url}/search`);
  await page.getByRole('link', { name: 'Chat', exact: true }).click();
  await eventually(async () => assert.ok(await field.evaluate((f) => f === document.activeElement)));
});

test('the labels of the main menu are not cut off', async (open) => {
  for (const locale of ['en-GB', 'de-DE']) {
    for (const size of [{}, { width: 390, height: 844 }]) {
      const page = await open(demo, '/memories', { locale, ...size });
      await page.locator('nav').first().waitFor();
      const cut = () =>
        page
          .locator('nav a > span.truncate')
          .evaluateAll((all) => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent));
      await eventually(async () => assert.deepEqual(await cut(), [], `${locale} ${JSON.stringify(size)}`));
    }
  }
});

test('a range of one year is shown as that year', async (open) => {
  const page = await open(demo, `/search?q=computer&from=1982&to=1982`);
  await page.getByRole('button', { name: /1982/ }).first().waitFor();
  assert.equal(await page.getByText('1982 to 1982').count(), 0);
});
