// The first run: from the set-up page to an answer with sources.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkPage, variants } from './check-page.mjs';
import { agentOf, api, demo, eventually, fresh, removeAgent, test } from './harness.mjs';

/** Writes files into a new folder and returns their paths. */
function writeFiles(files) {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-'));
  return Object.entries(files).map(([name, text]) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  });
}

const notes = {
  'travel-policy.md':
    '# Travel policy\n\nThe travel policy covers all journeys. Employees book trains for journeys under six hours.',
  'bread.md':
    '# How we bake sourdough bread\n\nThe bread is baked for forty minutes. The starter is fed every morning.',
  'memex.txt': 'As We May Think\n\nThe device is known as the memex. The memex stores all books of its owner.',
};

/** Clicks, and counts the clicks. */
function counted() {
  let clicks = 0;
  return {
    click: (locator) => {
      clicks++;
      return locator.click();
    },
    get clicks() {
      return clicks;
    },
  };
}

const current = (page) => page.getByRole('list', { name: 'Steps' }).locator('[aria-current=step]');

test('set-up leads to the first answer with sources in four clicks', async (open) => {
  const user = counted();
  const page = await open(fresh, '/');
  await page.goto(`${fresh.url}/setup`);
  await page.fill('#code', fresh.code);
  await page.fill('#name', 'Ada');
  await page.fill('#email', 'ada@example.org');
  await page.fill('#password', 'correct horse battery staple');
  await user.click(page.getByRole('button', { name: 'Create account' }));
  await page.waitForURL('**/start');
  await current(page).getByText('Name').waitFor();
  await page.getByLabel('Name').fill('Notes');
  await user.click(page.getByRole('button', { name: 'Continue' }));
  await current(page).getByText('Documents').waitFor();

  // Set-up can be left and resumed: in the chat, and by opening the page without an agent.
  await page.goto(`${fresh.url}/chat`);
  await page.getByText('This agent has no documents yet').waitFor();
  await page.getByText('No language model is connected. Carrel quotes your sources.').waitFor();
  await page.goto(`${fresh.url}/start`);
  await page.waitForURL('**/start?agent=*');

  const chooser = page.waitForEvent('filechooser');
  await user.click(page.getByText('Choose files'));
  await (await chooser).setFiles(writeFiles(notes));
  await page.getByRole('heading', { name: 'Notes is ready' }).waitFor();
  await page.getByText('3 documents are searchable').waitFor();
  const questions = page.getByRole('list', { name: 'Example questions' }).getByRole('button');
  await eventually(async () => assert.equal(await questions.count(), 3));
  const all = await questions.allInnerTexts();
  await user.click(questions.first());
  await page.waitForURL('**/chat/thr_*');
  await page.getByRole('button', { name: 'Open source 1' }).first().waitFor();
  assert.equal(user.clicks, 4);

  // Every suggested question has an answer with sources.
  const { agents } = await api(page, 'GET', '/api/agents');
  for (const text of all) {
    const { thread } = await api(page, 'POST', `/api/agents/${agents[0].id}/threads`, {});
    const reply = await api(page, 'POST', `/api/agents/${agents[0].id}/threads/${thread.id}/messages`, { text });
    assert.ok(reply.citations?.length, `${text}: ${JSON.stringify(reply)}`);
  }
});

test('the questions suggested for the demo library have answers with sources', async (open) => {
  const page = await open(demo, '/chat');
  const path = `/api/agents/${(await agentOf(page)).id}`;
  const { agent } = await api(page, 'GET', path);
  assert.ok(agent.suggestedExamples.length >= 3);
  for (const text of agent.suggestedExamples) {
    const { thread } = await api(page, 'POST', `${path}/threads`, {});
    const reply = await api(page, 'POST', `${path}/threads/${thread.id}/messages`, { text });
    assert.ok(reply.citations?.length, text);
    await api(page, 'DELETE', `${path}/threads/${thread.id}`);
  }
});

test('a source that is searched live needs no documents', async (open) => {
  const page = await open(demo, '/start?new');
  await page.getByLabel('Name').fill('Encyclopedia');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Connect another source' }).click();
  await page.getByRole('dialog').getByLabel('Type').selectOption('wikipedia');
  await page.getByRole('dialog').getByLabel('Name').fill('Wikipedia');
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'Encyclopedia is ready' }).waitFor();
  await page.getByRole('link', { name: 'Ask your own question' }).waitFor();
  await removeAgent(page, new URL(page.url()).searchParams.get('agent'));
});

test('files that cannot be read are named, and others can be tried', async (open) => {
  const page = await open(demo, '/start?new', { expectErrors: true });
  await page.getByLabel('Name').fill('Broken');
  await page.keyboard.press('Enter');
  await page.getByText('Drop files or folders here').waitFor();
  await page.locator('input[type=file]').setInputFiles(writeFiles({ 'broken.pdf': 'no PDF at all' }));
  await page.getByText('None of the files could be read.').waitFor();
  await page.getByText('broken.pdf').first().waitFor();
  await removeAgent(page, new URL(page.url()).searchParams.get('agent'));
});

for (const [variant, options] of Object.entries(variants))
  test(`the steps are accessible and fit, ${variant}`, async (open) => {
    const page = await open(demo, '/start?new', { ...options, bypassCSP: true });
    await page.getByLabel('Name').waitFor();
    await checkPage(page, 'name');
    const { agent } = await api(page, 'POST', '/api/agents', { name: 'Steps' });
    await page.goto(`${demo.url}/start?agent=${agent.id}`);
    await page.getByText('Drop files or folders here').waitFor();
    await checkPage(page, 'documents');
    await page.locator('input[type=file]').setInputFiles(writeFiles(notes));
    await page.getByRole('heading', { name: 'Steps is ready' }).waitFor();
    await page.getByRole('list', { name: 'Example questions' }).getByRole('button').first().waitFor();
    await checkPage(page, 'questions');
    await removeAgent(page, agent.id);
  });
