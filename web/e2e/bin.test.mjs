import assert from 'node:assert/strict';
import { checkPage, variants } from './check-page.mjs';
import { api, demo, eventually, test } from './harness.mjs';

const loom = { externalId: 'loom', title: 'Memo on looms', text: 'The Jacquard loom reads punched cards.', year: 1931 };

/** Creates an agent with a chat, a memory, a document and a favourite, and returns their paths. */
async function createContent(page, name) {
  const { agent } = await api(page, 'POST', '/api/agents', { name });
  const at = `/api/agents/${agent.id}`;
  await api(page, 'POST', `${at}/sources/${agent.defaultSourceId}/documents`, { documents: [loom] });
  const { thread } = await api(page, 'POST', `${at}/threads`, { title: 'Questions about looms' });
  await api(page, 'POST', `${at}/memories`, { text: 'I weave at home.' });
  let card;
  await eventually(async () => {
    card = (await api(page, 'POST', `${at}/search`, { query: 'jacquard loom' })).results[0];
    assert.ok(card, 'the document is indexed');
  });
  await api(page, 'POST', `${at}/favourites`, { card });
  return { agent, at, thread, query: `?agent=${agent.id}` };
}

/** Deletes all content of the agent with the API. */
async function deleteContent(page, { at, agent, thread }) {
  const ids = async (path, list, id = 'id') => (await api(page, 'GET', at + path))[list].map((x) => x[id]);
  await api(page, 'POST', `${at}/threads/delete`, { ids: [thread.id] });
  await api(page, 'POST', `${at}/memories/delete`, { ids: await ids('/memories', 'memories') });
  await api(page, 'POST', `${at}/favourites/delete`, { ids: await ids('/favourites', 'favourites', 'cardId') });
  const documents = `/sources/${agent.defaultSourceId}/documents`;
  await api(page, 'POST', `${at}${documents}/delete`, { ids: await ids(documents, 'documents') });
}

const row = (page, text) => page.getByRole('main').getByRole('listitem').filter({ hasText: text });
const restore = (page, title) => page.getByRole('button', { name: `Restore: ${title}` });
const binned = async (page, at) => (await api(page, 'GET', `${at}/bin`)).items.map((x) => x.kind);

test('a deleted chat is in the bin at once, and is restored', async (open) => {
  const page = await open(demo, '/chat');
  const { agent, at, thread, query } = await createContent(page, 'Bin of chats');
  await page.goto(`${demo.url}/chat${query}`);
  await page.getByRole('button', { name: 'Chat options: Questions about looms' }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('Chat moved to the bin.').waitFor();
  // The deletion could still be undone; opening the bin sends it.
  await page.getByRole('button', { name: 'Filter chats' }).click();
  await page.getByRole('link', { name: 'Bin', exact: true }).click();
  await page.waitForURL(`**/bin?agent=${agent.id}&kind=thread`);
  await row(page, 'Questions about looms')
    .getByText(/^Deleted just now · removed for good in 30 days$/)
    .waitFor();
  assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0);
  assert.deepEqual(await binned(page, at), ['thread']);
  await restore(page, 'Questions about looms').click();
  await page.getByText('“Questions about looms” restored.').waitFor();
  await page.getByRole('heading', { name: 'The bin is empty' }).waitFor();
  await page.getByRole('button', { name: 'Open chat' }).click();
  await page.waitForURL(`**/chat/${thread.id}?agent=${agent.id}`);
  await page.getByRole('link', { name: 'Questions about looms' }).first().waitFor();
  await api(page, 'DELETE', at);
});

test('a deleted memory is restored from the bin', async (open) => {
  const page = await open(demo, '/chat');
  const { agent, at, query } = await createContent(page, 'Bin of memories');
  await page.goto(`${demo.url}/memories${query}`);
  await page.getByRole('button', { name: 'Delete: I weave at home.' }).click();
  await page.getByText('Memory moved to the bin.').waitFor();
  await page.getByRole('link', { name: 'Bin', exact: true }).click();
  await page.waitForURL(`**/bin?agent=${agent.id}&kind=memory`);
  await restore(page, 'I weave at home.').click();
  await page.getByRole('button', { name: 'Show memories' }).click();
  await page.getByText('I weave at home.').waitFor();
  await api(page, 'DELETE', at);
});

test('a removed favourite is restored from the bin', async (open) => {
  const page = await open(demo, '/chat');
  const { agent, at, query } = await createContent(page, 'Bin of favourites');
  await page.goto(`${demo.url}/favourites${query}`);
  await page.getByRole('checkbox', { name: /Memo on looms/ }).check();
  await page.getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByText('Favourite moved to the bin.').waitFor();
  await page.getByRole('link', { name: 'Bin', exact: true }).click();
  await page.waitForURL(`**/bin?agent=${agent.id}&kind=favourite`);
  await restore(page, 'Memo on looms').click();
  await page.getByRole('button', { name: 'Show favourites' }).click();
  await page.waitForURL(`**/favourites?agent=${agent.id}`);
  await page.getByRole('checkbox', { name: /Memo on looms/ }).waitFor();
  await api(page, 'DELETE', at);
});

test('a restored document is found again', async (open) => {
  const page = await open(demo, '/chat');
  const { agent, at, query } = await createContent(page, 'Bin of documents');
  const found = async () => (await api(page, 'POST', `${at}/search`, { query: 'jacquard loom' })).results.length;
  await page.goto(`${demo.url}/sources/${agent.defaultSourceId}${query}`);
  await page.getByRole('checkbox', { name: 'Select: Memo on looms' }).check();
  await page.getByRole('toolbar', { name: 'Actions' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByText('1 document moved to the bin.').waitFor();
  await page.getByRole('link', { name: 'Bin', exact: true }).click();
  await page.waitForURL(`**/bin?agent=${agent.id}&kind=document`);
  await restore(page, 'Memo on looms').waitFor();
  await eventually(async () => assert.equal(await found(), 0));
  await restore(page, 'Memo on looms').click();
  await page.getByText('“Memo on looms” restored.').waitFor();
  await eventually(async () => assert.equal(await found(), 1));
  await page.getByRole('button', { name: 'Show document' }).click();
  await page.waitForURL(`**/sources/${agent.defaultSourceId}?agent=${agent.id}&doc=*`);
  await page.getByRole('complementary').getByText('The Jacquard loom reads punched cards.').waitFor();
  await page.goto(`${demo.url}/search${query}&q=jacquard`);
  await page.getByRole('heading', { name: 'Memo on looms' }).waitFor();
  await api(page, 'DELETE', at);
});

test('items of the bin are filtered, deleted for good, and the bin is emptied', async (open) => {
  const page = await open(demo, '/chat');
  const content = await createContent(page, 'Full bin');
  const { at, query } = content;
  await deleteContent(page, content);
  await page.goto(`${demo.url}/bin${query}`);
  await eventually(async () => assert.equal(await page.getByRole('main').getByRole('listitem').count(), 4));

  const filter = page.getByRole('group', { name: 'Kind' });
  await filter.getByRole('button', { name: 'Memories' }).click();
  await row(page, 'I weave at home.').getByRole('img', { name: 'Memory' }).waitFor();
  await eventually(async () => assert.equal(await page.getByRole('main').getByRole('listitem').count(), 1));
  assert.equal(await filter.getByRole('button', { name: 'Memories' }).getAttribute('aria-pressed'), 'true');
  assert.match(page.url(), /kind=memory/);

  // With the keyboard alone.
  await page.getByRole('button', { name: 'More actions: I weave at home.' }).focus();
  await page.keyboard.press('Enter');
  await eventually(async () =>
    assert.match(await page.evaluate(() => document.activeElement.textContent), /Delete now/, 'the menu has the focus'),
  );
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Delete now?' });
  await dialog.getByText('“I weave at home.” is removed for good. This can’t be undone.').waitFor();
  await dialog.getByRole('button', { name: 'Delete now' }).click();
  await page.getByText('“I weave at home.” removed for good.').waitFor();
  await page.getByText('Nothing of this kind is in the bin.').waitFor();
  assert.deepEqual((await binned(page, at)).sort(), ['document', 'favourite', 'thread']);

  await filter.getByRole('button', { name: 'All' }).click();
  await restore(page, 'Questions about looms').waitFor();
  await page.getByRole('button', { name: 'Empty the bin' }).click();
  await page.getByRole('dialog', { name: 'Empty the bin?' }).getByRole('button', { name: 'Cancel' }).click();
  assert.equal((await binned(page, at)).length, 3);
  await page.getByRole('button', { name: 'Empty the bin' }).click();
  await page.getByRole('dialog', { name: 'Empty the bin?' }).getByRole('button', { name: 'Empty the bin' }).click();
  await page.getByText('The bin is empty.').waitFor();
  await page.getByRole('heading', { name: 'The bin is empty' }).waitFor();
  assert.deepEqual(await binned(page, at), []);
  await api(page, 'DELETE', at);
});

test('a document that was added again is not restored, and the page says why', async (open) => {
  const page = await open(demo, '/chat', { expectErrors: true });
  const content = await createContent(page, 'Bin with a conflict');
  const { at, agent, query } = content;
  await deleteContent(page, content);
  await api(page, 'POST', `${at}/sources/${agent.defaultSourceId}/documents`, { documents: [loom] });
  await page.goto(`${demo.url}/bin${query}&kind=document`);
  await restore(page, 'Memo on looms').click();
  await page.getByText('The source has another document with the same external id. Delete that one first.').waitFor();
  await restore(page, 'Memo on looms').waitFor();
  await api(page, 'DELETE', at);
});

test('the bin reports errors, and loads more items', async (open) => {
  const page = await open(demo, '/chat', { expectErrors: true });
  const { agent } = await api(page, 'POST', '/api/agents', { name: 'Long bin' });
  const at = `/api/agents/${agent.id}`;
  const ids = [];
  for (let i = 0; i < 60; i++)
    ids.push((await api(page, 'POST', `${at}/threads`, { title: `Chat number ${i}` })).thread.id);
  await api(page, 'POST', `${at}/threads/delete`, { ids });
  await page.route('**/api/**/bin?*', (r) =>
    r.fulfill({ status: 503, json: { code: 'unavailable', detail: 'Not now.' } }),
  );
  await page.goto(`${demo.url}/bin?agent=${agent.id}`);
  await page.getByText('Not now.').waitFor();
  await page.unroute('**/api/**/bin?*');
  await page.getByRole('button', { name: 'Retry' }).click();
  const rows = page.getByRole('main').getByRole('listitem');
  await eventually(async () => assert.equal(await rows.count(), 50));
  await page.getByRole('button', { name: 'Show more' }).click();
  await eventually(async () => assert.equal(await rows.count(), 60));
  await api(page, 'DELETE', at);
});

test('the bin is reached from the account menu and the palette', async (open) => {
  const page = await open(demo, '/chat');
  await page.getByRole('button', { name: 'Account' }).click();
  await page.getByRole('link', { name: 'Bin', exact: true }).click();
  await page.getByRole('heading', { name: 'Bin', level: 1 }).waitFor();
  await page.goto(`${demo.url}/chat`);
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Commands' }).fill('bin');
  await page.getByRole('option', { name: 'Bin', exact: true }).click();
  await page.waitForURL('**/bin');
});

for (const [variant, options] of Object.entries(variants))
  test(`the bin is accessible and fits, ${variant}`, async (open) => {
    const page = await open(demo, '/chat', { ...options, bypassCSP: true });
    const content = await createContent(page, 'Neat bin');
    await api(page, 'PATCH', `${content.at}/threads/${content.thread.id}`, {
      title: `A ${'rather '.repeat(20)}long title`,
    });
    await deleteContent(page, content);
    await page.goto(`${demo.url}/bin${content.query}`);
    await restore(page, 'Memo on looms').first().waitFor();
    await checkPage(page, 'the bin');
    const look = process.env.CARREL_WEB_LOOK;
    const name = variant.replaceAll(/\W+/g, '-');
    if (look) await page.screenshot({ path: `${look}/bin-${name}.png` });
    await page.getByRole('button', { name: 'Empty the bin' }).click();
    await page.getByRole('dialog').waitFor();
    await checkPage(page, 'the question before the bin is emptied');
    if (look) await page.screenshot({ path: `${look}/bin-empty-${name}.png` });
    await page.getByRole('button', { name: 'Cancel' }).click();
    for (const path of ['/memories', '/favourites', '/sources', `/sources/${content.agent.defaultSourceId}`]) {
      await page.goto(demo.url + path + content.query);
      await checkPage(page, path);
      if (look)
        await page.screenshot({ path: `${look}/${path.split('/').slice(1).join('-').slice(0, 14)}-${name}.png` });
    }
    await api(page, 'DELETE', content.at);
  });
