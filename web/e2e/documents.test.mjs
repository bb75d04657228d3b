import assert from 'node:assert/strict';
import { checkPage, variants } from './check-page.mjs';
import { agentOf, api, endToasts, eventually, slow, test } from './harness.mjs';

const batch = [
  {
    externalId: 'codd',
    title: 'A Relational Model',
    text: 'A model.',
    authors: ['E. F. Codd'],
    year: 1970,
    type: 'article',
  },
  { externalId: 'report-1998.txt', title: 'Annual report', text: 'A report.' },
  { externalId: 'memo', title: 'Memo on looms', text: 'Written in 1931 at the mill.', language: 'fr' },
  { externalId: 'war', title: 'A war', text: 'From 1914 to 1918.' },
];

/** Creates a source with documents and opens its page. */
async function openDocuments(open, name, documents = batch, options) {
  const page = await open(slow, '/chat', options);
  const agent = await agentOf(page);
  const { source } = await api(page, 'POST', `/api/agents/${agent.id}/sources`, { name });
  const path = `/api/agents/${agent.id}/sources/${source.id}`;
  await api(page, 'POST', `${path}/documents`, { documents });
  await page.goto(`${slow.url}/sources/${source.id}?agent=${agent.id}`);
  await page.getByRole('heading', { name: 'Documents', exact: true }).waitFor();
  return { page, path, agent };
}
const row = (page, title) => page.getByRole('row').filter({ hasText: title });

test('documents are filtered by words, year, type, language and status, and paged', async (open) => {
  const many = Array.from({ length: 60 }, (_, i) => ({
    externalId: `n-${i}`,
    title: `Note ${i}`,
    text: 'x',
    year: 2000,
  }));
  const { page } = await openDocuments(open, 'Filters', [...batch, ...many]);
  await row(page, 'Note 59').waitFor();
  await eventually(async () => assert.equal(await page.getByRole('row').count(), 51));
  await page.getByRole('button', { name: 'Show more' }).first().click();
  await row(page, 'A Relational Model').waitFor();
  await eventually(async () => assert.equal(await page.getByRole('row').count(), 65));
  await page.getByRole('searchbox', { name: 'Find by title, author or DOI' }).fill('codd');
  await row(page, 'Note 59').waitFor({ state: 'detached' });
  await row(page, 'A Relational Model').waitFor();
  await page.reload();
  await row(page, 'A Relational Model').waitFor();
  await eventually(async () => assert.equal(await page.getByRole('row').count(), 2, 'the filter is in the URL'));
  await page.getByRole('searchbox', { name: 'Year' }).fill('1971');
  await page.getByText('No documents match.').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByRole('combobox', { name: 'Type' }).selectOption('Article');
  await row(page, 'Note 59').waitFor({ state: 'detached' });
  await eventually(async () => assert.equal(await page.getByRole('row').count(), 2));
  await page.getByRole('combobox', { name: 'Type' }).selectOption('All types');
  await page.getByRole('combobox', { name: 'Language' }).selectOption('French');
  await row(page, 'Memo on looms').getByText('French').waitFor();
  await eventually(async () => assert.equal(await page.getByRole('row').count(), 2));
  await page.getByRole('combobox', { name: 'Language' }).selectOption('All languages');
  await page.getByRole('button', { name: '3 without a year' }).click();
  await row(page, 'Memo on looms').waitFor();
  await row(page, 'Note 59').waitFor({ state: 'detached' });
  await eventually(async () => assert.equal(await page.getByRole('row').count(), 4));
});

test('a document is edited in the table, and a wrong value is shown at its field', async (open) => {
  const { page, path } = await openDocuments(open, 'Edits', batch, { expectErrors: true });
  await page.getByRole('button', { name: 'Edit: A Relational Model' }).click();
  const form = page.getByRole('form', { name: 'Edit: A Relational Model' });
  await form.getByLabel('Title').fill('Data banks');
  await form.getByLabel('Authors').fill('Ted Codd\nC. J. Date');
  await form.getByLabel('Year').fill('1969');
  await form.getByLabel('Journal').fill('CACM');
  await form.getByLabel('DOI').fill('10.1145/362384.362685');
  await form.getByLabel('URL').fill('javascript:alert(1)');
  await form.getByLabel('Tags').fill('databases, models');
  await form.getByLabel('Language').selectOption('Hungarian');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('Must be an http or https URL.').waitFor();
  await form.getByLabel('URL').fill('https://example.org/codd');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.waitFor({ state: 'detached' });
  await row(page, 'Data banks').getByText('1969').waitFor();
  await row(page, 'Data banks').getByText('Hungarian').waitFor();
  const { documents } = await api(page, 'GET', `${path}/documents?q=data+banks`);
  const { title, authors, year, venue, doi, url, tags, language, edited } = documents[0];
  assert.deepEqual(
    [title, authors, year, venue, doi, url, tags, language, edited.length],
    [
      'Data banks',
      ['Ted Codd', 'C. J. Date'],
      1969,
      'CACM',
      '10.1145/362384.362685',
      'https://example.org/codd',
      ['databases', 'models'],
      'hu',
      8,
    ],
  );
  await page.getByRole('button', { name: 'Edit: Data banks' }).click();
  await page.getByText('Edited by hand: title, authors, year').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('form').waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Memo on looms' }).click();
  await page.getByText('Written in 1931 at the mill.').waitFor();
  await page.getByRole('button', { name: 'Close source' }).click();
  await page.getByText('Written in 1931 at the mill.').waitFor({ state: 'detached' });
});

test('guessed years are offered as guesses and accepted singly or together', async (open) => {
  const { page, path } = await openDocuments(open, 'Years');
  await page.getByRole('button', { name: '3 without a year' }).click();
  await eventually(async () =>
    assert.equal(await row(page, 'A war').getByRole('button', { name: /Use/ }).count(), 0, 'two years are no guess'),
  );
  await page.getByRole('button', { name: 'Use 1998. Guess: 1998 is in the file name' }).click();
  await row(page, 'Annual report').getByText('1998', { exact: true }).waitFor();
  await page.getByRole('checkbox', { name: 'Select: Memo on looms' }).check();
  await page.getByRole('checkbox', { name: 'Select: A war' }).check();
  await page.getByRole('button', { name: 'Use 1 guessed year' }).click();
  await page.getByText('1 year saved.').waitFor();
  await page.getByRole('button', { name: '1 without a year' }).waitFor();
  const { documents } = await api(page, 'GET', `${path}/documents`);
  assert.deepEqual(documents.map((d) => d.year ?? 0).sort(), [0, 1931, 1970, 1998]);
});

test('selected documents are deleted, unless it is undone', async (open) => {
  const { page, path } = await openDocuments(open, 'Deletions');
  await page.getByRole('checkbox', { name: 'Select all shown documents' }).check();
  await page.getByText('4 selected').waitFor();
  await page.getByRole('checkbox', { name: 'Select: A Relational Model' }).uncheck();
  const toolbar = page.getByRole('toolbar', { name: 'Actions' });
  await toolbar.getByRole('button', { name: 'Delete' }).click();
  await row(page, 'A war').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await row(page, 'A war').waitFor();
  await page.getByRole('checkbox', { name: 'Select: A war' }).check();
  const deleted = page.waitForResponse((r) => r.url().endsWith('/documents/delete'));
  await toolbar.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('1 document moved to the bin.').waitFor();
  await endToasts(page);
  assert.equal((await (await deleted).json()).deleted, 1);
  assert.equal((await api(page, 'GET', `${path}/documents`)).documents.length, 3);
});

test('a selection and an open form survive a reload of the source', async (open) => {
  const { page, path } = await openDocuments(open, 'Reloads');
  await page.clock.install();
  await page.reload();
  await page.getByRole('checkbox', { name: 'Select: A war' }).check();
  await page.getByRole('button', { name: 'Edit: A Relational Model' }).click();
  await page.getByRole('textbox', { name: 'Title' }).fill('Half a ti');
  await api(page, 'POST', `${path}/documents`, { documents: [{ externalId: 'new', title: 'A new one', text: 'x' }] });
  const polled = page.waitForResponse((r) => r.url().endsWith('/sources'));
  await page.clock.fastForward(16_000);
  await polled;
  await page.getByText('Uploaded files · 5 documents').waitFor();
  await eventually(async () =>
    assert.equal(await page.getByRole('textbox', { name: 'Title' }).inputValue(), 'Half a ti'),
  );
  await eventually(async () => assert.ok(await page.getByRole('checkbox', { name: 'Select: A war' }).isChecked()));
  await eventually(async () => assert.equal(await row(page, 'A new one').count(), 0));
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Clear selection' }).click();
  await row(page, 'A new one').waitFor();
});

test('a document is read again from its original and keeps its edited title', async (open) => {
  const { page, path } = await openDocuments(open, 'Originals');
  await page.getByLabel('Choose files').setInputFiles({
    name: 'mill-1931.md',
    mimeType: 'text/markdown',
    buffer: Buffer.from('# The mill\n\nThe looms ran.'),
  });
  await page.getByRole('button', { name: 'Edit: The mill' }).click();
  await page.getByRole('textbox', { name: 'Title' }).fill('My mill');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('checkbox', { name: 'Select: My mill' }).check();
  const original = page.getByRole('link', { name: 'Open the original: mill-1931.md' });
  const file = await page.request.get(await original.evaluate((a) => a.href));
  assert.equal(await file.text(), '# The mill\n\nThe looms ran.');
  const started = page.waitForResponse((r) => r.url().endsWith('/documents/reread'));
  await page.getByRole('toolbar').getByRole('button', { name: 'Read again' }).click();
  await page.getByText('Reading 1 document again.').waitFor();
  const id = (await (await started).json()).import.id;
  await page.waitForFunction(
    async ([p, i]) => {
      const { imports } = await (await fetch(`${p}/imports`)).json();
      return imports.find((x) => x.id === i)?.state === 'complete';
    },
    [path, id],
  );
  await row(page, 'My mill').waitFor();
  const { documents } = await api(page, 'GET', `${path}/documents?q=mill-1931`);
  assert.deepEqual([documents.length, documents[0].title, documents[0].edited], [1, 'My mill', ['title']]);
});

for (const [variant, options] of Object.entries(variants)) {
  test(`the document table is accessible and fits, ${variant}`, async (open) => {
    const { page } = await openDocuments(open, `Table, ${variant}`, batch, { ...options, bypassCSP: true });
    await page.getByRole('checkbox', { name: 'Select: Annual report' }).check();
    await page.getByRole('toolbar', { name: 'Actions' }).waitFor();
    await checkPage(page, 'documents');
    await page.getByRole('button', { name: 'Edit: A Relational Model' }).click();
    await page.getByRole('form').scrollIntoViewIfNeeded();
    await checkPage(page, 'a document that is edited');
  });
}
