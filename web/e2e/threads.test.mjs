import assert from 'node:assert/strict';
import { checkPage, variants } from './check-page.mjs';
import { agentOf, api, demo, endToasts, eventually, removeAgent, test } from './harness.mjs';

/** Creates chats with these titles, the last one newest. */
async function createThreads(page, ...titles) {
  const agent = await agentOf(page);
  for (const title of titles) await api(page, 'POST', `/api/agents/${agent.id}/threads`, { title });
  await page.reload();
  return agent;
}

const linkTo = (page, title) => page.getByRole('link', { name: title, exact: false }).first();
const optionsOf = (page, title) => page.getByRole('button', { name: `Chat options: ${title}` });

test('chats are pinned, tagged and archived', async (open) => {
  const page = await open(demo, '/chat');
  const long = `Order of ${'very '.repeat(20)}long titles`;
  await createThreads(page, long, 'Order: tables', 'Order: joins');
  await linkTo(page, 'Order: joins').waitFor();
  assert.equal(await linkTo(page, 'Order of very').getAttribute('title'), long, 'the whole title is a tooltip');

  await optionsOf(page, 'Order: tables').click();
  await page.getByRole('button', { name: 'Pin', exact: true }).click();
  await page.getByRole('heading', { name: 'Pinned' }).waitFor();

  await optionsOf(page, 'Order: joins').click();
  await page.getByRole('button', { name: 'Edit tags' }).click();
  await page.getByRole('textbox', { name: 'Tags' }).fill('Algebra, databases');
  const saved = page.waitForResponse((r) => r.request().method() === 'PATCH');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('#Algebra #databases').waitFor();
  await saved; // the page shows the change before
  await page.reload();
  await page.getByRole('heading', { name: 'Pinned' }).waitFor();

  await page.getByRole('button', { name: 'Filter chats' }).click();
  await page.getByRole('button', { name: '# Algebra' }).click();
  await linkTo(page, 'Order: tables').waitFor({ state: 'detached' });
  await linkTo(page, 'Order: joins').waitFor();
  await optionsOf(page, 'Order: joins').click();
  await page.getByRole('button', { name: 'Archive', exact: true }).click();
  await page.getByText('Chat archived.').waitFor();
  await page.getByText('No chats with this tag.').waitFor();

  await page.getByRole('button', { name: 'Filter chats' }).click();
  await page.getByRole('button', { name: 'Archived', exact: true }).click();
  await linkTo(page, 'Order: joins').click();
  await page.waitForURL('**/chat/thr_*');
  await eventually(async () => assert.match(await page.title(), /Order: joins/));
  await optionsOf(page, 'Order: joins').click();
  await page.getByRole('button', { name: 'Move back to chats' }).click();
  await page.getByText('No archived chats.').waitFor();
  await page.getByRole('button', { name: 'Clear filters: Archived' }).click();
  await linkTo(page, 'Order: joins').waitFor();
});

test('a change of several chats that fails in the middle says how many were changed', async (open) => {
  const page = await open(demo, '/chat', { expectErrors: true });
  const agent = await createThreads(page, 'Broken one', 'Broken two', 'Broken three');
  const archived = async () =>
    (await api(page, 'GET', `/api/agents/${agent.id}/threads?limit=200&archived=true`)).threads
      .filter((x) => x.title.startsWith('Broken'))
      .map((x) => x.id);
  const names = ['Broken one', 'Broken two', 'Broken three'];
  await linkTo(page, names[0]).waitFor();
  let requests = 0;
  await page.route('**/threads/thr_*', (r) => {
    if (r.request().method() !== 'PATCH' || ++requests !== 2) return r.continue();
    return r.fulfill({
      status: 503,
      contentType: 'application/problem+json',
      body: JSON.stringify({ code: 'unavailable', detail: 'Try again later.', status: 503, requestId: 'req_broken' }),
    });
  });
  await page.getByRole('button', { name: 'Select chats' }).click();
  for (const name of names) await page.getByRole('checkbox', { name: `Select ${name}` }).check();
  await page.getByRole('toolbar').getByRole('button', { name: 'Archive' }).click();
  await page.getByText('1 of 3 chats changed. Try again later.').waitFor();
  await page.getByText('req_broken').waitFor();
  assert.equal((await archived()).length, 1);
  await eventually(async () =>
    assert.equal(await page.getByRole('link', { name: /^Broken/ }).count(), 2, 'the list shows what the server has'),
  );
  await page.getByRole('status').getByRole('button', { name: 'Retry' }).click();
  await page.getByText('2 chats archived.').waitFor();
  const all = await archived();
  assert.equal(all.length, 3);
  await api(page, 'POST', `/api/agents/${agent.id}/threads/delete`, { ids: all });
});

test('several chats are tagged, archived and deleted at once', async (open) => {
  const page = await open(demo, '/chat');
  const agent = await createThreads(page, 'Batch one', 'Batch two', 'Batch three');
  const titles = async (query = '') =>
    (await api(page, 'GET', `/api/agents/${agent.id}/threads?limit=200${query}`)).threads.map((x) => x.title);
  const select = async (...names) => {
    await page.getByRole('button', { name: 'Select chats' }).click();
    for (const name of names) await page.getByRole('checkbox', { name: `Select ${name}` }).check();
    await page.getByText(`${names.length} selected`).waitFor();
  };
  await linkTo(page, 'Batch one').waitFor();
  await select('Batch one', 'Batch two');
  await page.getByRole('button', { name: 'Add tags' }).click();
  await page.getByRole('textbox', { name: 'Tags' }).fill('batch');
  await page.getByRole('button', { name: 'Save' }).click();
  await eventually(async () => assert.deepEqual((await titles('&tag=batch')).sort(), ['Batch one', 'Batch two']));
  await page.getByRole('toolbar').getByRole('button', { name: 'Archive' }).click();
  await page.getByText('2 chats archived.').waitFor();
  await linkTo(page, 'Batch one').waitFor({ state: 'detached' });
  await eventually(async () =>
    assert.deepEqual((await titles('&archived=true&tag=batch')).sort(), ['Batch one', 'Batch two']),
  );
  await page.getByRole('button', { name: 'Filter chats' }).click();
  await page.getByRole('button', { name: 'Archived', exact: true }).click();
  await linkTo(page, 'Batch one').waitFor();
  await select('Batch one', 'Batch two');
  await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('2 chats moved to the bin.').waitFor();
  await page.getByText('No archived chats.').waitFor();
  await endToasts(page);
  await eventually(async () => assert.deepEqual(await titles('&tag=batch'), []));
});

test('chats of all agents are searched', async (open) => {
  const page = await open(demo, '/chat');
  const other = (await api(page, 'POST', '/api/agents', { name: 'Second shelf' })).agent;
  const { thread } = await api(page, 'POST', `/api/agents/${other.id}/threads`, { title: 'Xylophones of the world' });
  await page.reload();
  const field = page.getByRole('searchbox', { name: 'Search all chats' });
  await field.fill('xylo WORLD');
  const result = page.getByRole('link', { name: /Xylophones of the world/ });
  await result.waitFor();
  await result.getByText('Second shelf').waitFor();
  assert.deepEqual(await result.locator('mark').allTextContents(), ['Xylo', 'world']);
  await result.click();
  await page.waitForURL(`**/chat/${thread.id}*`);
  await field.fill('no such words anywhere');
  await page.getByText('No chats found.').first().waitFor();
  await removeAgent(page, other.id);
});

for (const [name, options] of Object.entries(variants))
  test(`the chat list with its tools is accessible and fits: ${name}`, async (open) => {
    const page = await open(demo, '/chat', { ...options, bypassCSP: true });
    const agent = await agentOf(page);
    const { thread } = await api(page, 'POST', `/api/agents/${agent.id}/threads`, { title: 'Look at the list' });
    const path = `/api/agents/${agent.id}/threads/${thread.id}`;
    await api(page, 'PATCH', path, { pinned: true, tags: ['databases', 'look'] });
    await page.reload();
    if (options.width) await page.getByRole('button', { name: 'Show chats' }).click();
    await page.getByRole('heading', { name: 'Pinned' }).waitFor();
    await page.getByRole('button', { name: 'Select chats' }).click();
    await page.getByRole('toolbar', { name: 'Actions for selected chats' }).waitFor();
    await checkPage(page, name);
    await api(page, 'DELETE', path);
  });
