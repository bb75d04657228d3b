import { api, removeAgent, slow, test } from './harness.mjs';
import { checkPage, variants } from './check-page.mjs';

test('a Zotero library is a source, and favourites are written to it', async (open) => {
  const page = await open(slow, '/sources');
  const { agent } = await api(page, 'POST', '/api/agents', { name: 'Zotero' });
  await page.goto(`${slow.url}/sources?agent=${agent.id}`);
  await page.getByRole('button', { name: 'New source' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Type').selectOption('zotero');
  await dialog.getByLabel('Name', { exact: true }).fill('My library');
  await dialog.getByLabel('API URL').fill(process.env.CARREL_WEB_ZOTERO_URL);
  await dialog.getByLabel('API key').fill(process.env.CARREL_WEB_ZOTERO_KEY);
  await dialog.getByRole('button', { name: 'Create source' }).click();
  await page.getByRole('heading', { name: 'My library', level: 1 }).waitFor();
  await page.getByText('The Art of Computer Programming').first().waitFor();

  await api(page, 'POST', `/api/agents/${agent.id}/favourites`, {
    card: { cardId: 'dijkstra', title: 'Go To Statement Considered Harmful', year: 1968 },
  });
  await page.goto(`${slow.url}/favourites?agent=${agent.id}`);
  const card = page.getByLabel('Select: Go To Statement Considered Harmful');
  await card.check();
  for (const result of ['1 new item', '1 was there already']) {
    await page.getByRole('button', { name: 'Zotero' }).click();
    await dialog.getByText('Writes the selected favourite.').waitFor();
    await dialog.getByLabel('Zotero collection').fill('From Carrel');
    await dialog.getByRole('button', { name: 'Write' }).click();
    await dialog.getByText('Written to the collection “From Carrel”.').waitFor();
    await dialog.getByText(result).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
  }
  for (const [name, variant] of Object.entries(variants)) {
    const shown = await open(slow, `/favourites?agent=${agent.id}`, { ...variant, bypassCSP: true });
    await shown.getByRole('button', { name: 'Zotero' }).click();
    await shown.getByRole('dialog').getByLabel('Zotero collection').waitFor();
    await checkPage(shown, `the dialog, ${name}`);
  }
  await removeAgent(page, agent.id);
});
