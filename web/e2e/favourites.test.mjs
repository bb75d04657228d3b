import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { checkPage, variants } from './check-page.mjs';
import { api, endToasts, eventually, member, removeAgent, slow, test } from './harness.mjs';

/** Members of the slow server, whose agents no other test uses. */
const grace = { ...slow, email: 'grace@example.org', password: member.password };
const ida = { ...slow, email: 'ida@example.org', password: member.password };

const library = `@article{codd, title = {A Relational Model}, author = {Codd, Edgar F.}, year = 1970,
  keywords = {databases}}
@book{knuth, title = {The Art of Computer Programming}, author = {Knuth, Donald E.}, year = 1968}
@misc{broken, title = {Not closed
@article{turing, title = {Computing Machinery and Intelligence}, author = {Turing, Alan M.}, year = 1950}
`;
const file = (name, content) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(content) });

/** Opens the favourites of a new agent with the library; the agents of the user are deleted at the end. */
async function withLibrary(open, options, run) {
  const page = await open(grace, '/chat', options);
  const { agent } = await api(page, 'POST', '/api/agents', { name: 'Reading list' });
  try {
    await api(page, 'POST', `/api/agents/${agent.id}/favourite-imports`, { format: 'bibtex', content: library });
    await page.goto(`${grace.url}/favourites`);
    await row(page, 'A Relational Model').waitFor();
    await run(page, agent);
  } finally {
    await page.goto('about:blank'); // sends pending deletions
    await page.goto(`${grace.url}/chat`);
    for (const c of (await api(page, 'GET', '/api/collections')).collections)
      await api(page, 'DELETE', `/api/collections/${c.id}`);
    for (const a of (await api(page, 'GET', '/api/agents')).agents) await api(page, 'DELETE', `/api/agents/${a.id}`);
  }
}
const row = (page, title) => page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: title }) });
const rows = (page) => page.getByRole('listitem').filter({ has: page.getByRole('heading') });
const toolbar = (page) => page.getByRole('toolbar', { name: 'Actions for selected favourites' });

test('a reference file is imported with a result for each entry', async (open) => {
  const page = await open(grace, '/chat');
  const { agent } = await api(page, 'POST', '/api/agents', { name: 'Reading list' });
  try {
    await page.goto(`${grace.url}/favourites`);
    await page.getByRole('heading', { name: 'No favourites yet' }).waitFor();
    await page.getByRole('button', { name: 'Import' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Import favourites' });
    await dialog
      .locator('input[type=file]')
      .setInputFiles([
        file('library.bib', library),
        file('letter.txt', 'Dear Ada'),
        file('one.ris', 'TY  - JOUR\r\nTI  - On Computable Numbers\r\nPY  - 1936\r\nER  - \r\n'),
      ]);
    const results = dialog.getByRole('list', { name: 'Entries of library.bib' });
    await dialog.getByText('3 added · 1 not imported').waitFor();
    await eventually(async () =>
      assert.match(await results.getByRole('listitem').first().textContent(), /Not imported · Line 4.*The entry/s),
    );
    await eventually(async () => assert.equal(await results.getByRole('listitem').count(), 4));
    await dialog.getByText('This is not a BibTeX or RIS file.').waitFor();
    await dialog.getByText('1 added', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await row(page, 'On Computable Numbers').waitFor();
    await eventually(async () => assert.equal(await rows(page).count(), 4));

    // A dropped file is imported too, and a file that was imported before changes nothing.
    const data = await page.evaluateHandle((text) => {
      const t = new DataTransfer();
      t.items.add(new File([text], 'again.bib'));
      return t;
    }, library);
    await page.dispatchEvent('#main', 'drop', { dataTransfer: data });
    await dialog.getByText('3 unchanged · 1 not imported').waitFor();
  } finally {
    await removeAgent(page, agent.id);
  }
});

test('favourites are tagged, annotated, collected and filtered', (open) =>
  withLibrary(open, { expectErrors: true }, async (page) => {
    const codd = row(page, 'A Relational Model');
    await codd.getByRole('button', { name: 'Add a tag to A Relational Model' }).press('Enter');
    await page.keyboard.type('To read, seminal');
    await page.keyboard.press('Enter');
    await codd.getByRole('button', { name: 'Show favourites with the tag seminal' }).waitFor();
    await page.keyboard.press('Escape');
    await eventually(async () =>
      assert.match(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), /^Add a tag/),
    );
    await codd.getByRole('button', { name: 'Remove tag databases from A Relational Model' }).click();
    await codd.getByRole('button', { name: 'Add a note to A Relational Model' }).click();
    await codd.getByRole('textbox', { name: 'Note' }).fill('Introduces normal forms.');
    await codd.getByRole('button', { name: 'Save' }).click();
    await codd.getByText('Introduces normal forms.').waitFor();

    await row(page, 'The Art')
      .getByRole('button', { name: /to a collection$/ })
      .click();
    await page.getByRole('button', { name: 'New collection…' }).last().click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Chapter 1');
    await page.keyboard.press('Enter');
    await row(page, 'The Art').getByRole('button', { name: 'Show the collection Chapter 1' }).click();
    await row(page, 'A Relational Model').waitFor({ state: 'detached' });
    await eventually(async () => assert.equal(await rows(page).count(), 1));
    await page.reload();
    await row(page, 'The Art').waitFor();
    await eventually(async () => assert.equal(await rows(page).count(), 1, 'the filter is in the URL'));
    await page.getByRole('button', { name: 'Clear filters' }).click();

    await page.getByRole('combobox', { name: 'Tag' }).selectOption('seminal (1)');
    await row(page, 'The Art').waitFor({ state: 'detached' });
    await eventually(async () =>
      assert.deepEqual(await rows(page).getByRole('heading').allTextContents(), ['A Relational Model']),
    );
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    const [exported] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'BibTeX' }).click(),
    ]);
    const bibtex = readFileSync(await exported.path(), 'utf8');
    assert.match(bibtex, /keywords = \{seminal, To read\}/);
    assert.match(bibtex, /annote = \{Introduces normal forms.\}/);
    assert.doesNotMatch(bibtex, /Turing/);
    await page.getByRole('searchbox', { name: 'Search favourites' }).fill('machinery');
    await page.getByRole('heading', { name: 'No favourites match' }).waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await row(page, 'Computing Machinery').waitFor();

    await page.getByRole('button', { name: 'Collections', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Collections' });
    await dialog.getByRole('textbox', { name: 'New collection' }).fill('Empty');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('button', { name: 'Rename Empty' }).click();
    await dialog.getByRole('textbox', { name: 'Rename Empty' }).fill('chapter 1');
    await page.keyboard.press('Enter');
    await dialog.getByRole('alert').getByText('Another collection has this name').waitFor();
    await dialog.getByRole('textbox', { name: 'Rename Empty' }).fill('Chapter 2');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Delete Chapter 1' }).click();
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByText('Chapter 1').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await row(page, 'The Art').waitFor();
    const collections = row(page, 'The Art').getByRole('button', { name: /^Show the collection/ });
    await eventually(async () => assert.equal(await collections.count(), 0));
  }));

test('selected favourites are tagged, collected, cited, exported and removed', (open) =>
  withLibrary(open, {}, async (page) => {
    await page.getByRole('checkbox', { name: 'Select: A Relational Model' }).check();
    await page.getByRole('checkbox', { name: 'Select: The Art of Computer Programming' }).check();
    const bar = toolbar(page);
    await bar.getByText('2 selected').waitFor();
    await bar.getByRole('button', { name: 'Cite selected favourites' }).click();
    await page.getByRole('button', { name: 'APA' }).last().click();
    await page.getByText('Copied', { exact: false }).first().waitFor();
    await eventually(async () =>
      assert.match(await page.evaluate(() => navigator.clipboard.readText()), /Codd, E\. F\.[^]*Knuth, D\. E\./),
    );
    await bar.getByRole('button', { name: 'Export selected favourites' }).click();
    const [exported] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'RIS', exact: true }).last().click(),
    ]);
    assert.equal(exported.suggestedFilename(), 'favourites.ris');
    assert.equal(readFileSync(await exported.path(), 'utf8').match(/^TY {2}-/gm).length, 2);

    await bar.getByRole('button', { name: 'Add tags' }).click();
    await page.getByRole('dialog', { name: 'Add tags' }).getByRole('combobox').fill('classic');
    await page.keyboard.press('Enter');
    await page.getByText('2 favourites tagged.').waitFor();
    await bar.waitFor({ state: 'detached' });
    await page.getByRole('combobox', { name: 'Tag' }).selectOption('classic (2)');
    await row(page, 'Computing Machinery').waitFor({ state: 'detached' });

    await page.getByRole('checkbox', { name: 'Select all shown favourites' }).check();
    await bar.getByRole('button', { name: 'Add to collection' }).click();
    await page.getByRole('button', { name: 'New collection…' }).last().click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Classics');
    await page.keyboard.press('Enter');
    await page.getByText('2 favourites added to Classics.').waitFor();
    await page.getByRole('button', { name: 'Show the collection Classics' }).nth(1).waitFor();

    await page.getByRole('checkbox', { name: 'Select all shown favourites' }).check();
    await bar.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('2 favourites moved to the bin.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await eventually(async () => assert.equal(await rows(page).count(), 2));
    const deleted = page.waitForResponse((r) => r.request().method() === 'DELETE' && r.url().includes('/favourites/'));
    await row(page, 'The Art')
      .getByRole('button', { name: /^Remove: / })
      .click();
    await endToasts(page);
    await deleted;
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await row(page, 'Computing Machinery').waitFor();
    await eventually(async () => assert.equal(await rows(page).count(), 2));
  }));

test('favourites of all agents are listed together and by agent', (open) =>
  withLibrary(open, {}, async (page) => {
    const { agent } = await api(page, 'POST', '/api/agents', { name: 'Second' });
    const many = Array.from({ length: 60 }, (_, i) => `@misc{n${i}, title = {Note ${i}}}`).join('\n');
    await api(page, 'POST', `/api/agents/${agent.id}/favourite-imports`, { format: 'bibtex', content: many });
    await page.reload();
    await row(page, 'Note 0').waitFor();
    await eventually(async () => assert.equal(await rows(page).count(), 50));
    await row(page, 'Note 0').getByText('with Second').waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await row(page, 'A Relational Model').getByText('with Reading list').waitFor();
    await eventually(async () => assert.equal(await rows(page).count(), 63));
    await page.getByRole('combobox', { name: 'Agent' }).selectOption('Reading list');
    await row(page, 'Note 0').waitFor({ state: 'detached' });
    await eventually(async () => assert.equal(await rows(page).count(), 3));
  }));

test('without an agent, favourites and memories say what to do', async (open) => {
  const page = await open(ida, '/favourites');
  for (const path of ['/favourites', '/memories']) {
    await page.goto(ida.url + path);
    await page.getByRole('heading', { name: 'No agents yet' }).waitFor();
    await eventually(async () => assert.equal(await page.locator('.skeleton').count(), 0, path));
    await eventually(async () => assert.equal(await page.getByRole('link', { name: 'New agent' }).count(), 1, path));
  }
});

for (const [variant, options] of Object.entries(variants)) {
  test(`favourites are accessible and fit, ${variant}`, (open) =>
    withLibrary(open, { ...options, bypassCSP: true }, async (page, agent) => {
      const { collection } = await api(page, 'POST', '/api/collections', { name: 'A collection with a long name' });
      const { favourites } = await api(page, 'GET', '/api/favourites');
      await api(page, 'PATCH', `/api/agents/${agent.id}/favourites/${favourites[0].cardId}`, {
        tags: ['databases', 'to read', 'a tag of several words that is rather long'],
        note: 'Compare the definition of a relation with the one of the thesis.',
        collections: [collection.id],
      });
      await page.reload();
      await row(page, 'A Relational Model').getByText('Compare the definition').waitFor();
      await checkPage(page, 'favourites');
      await page.getByRole('checkbox').nth(1).check();
      await row(page, 'The Art')
        .getByRole('button', { name: /^Add a tag/ })
        .click();
      await checkPage(page, 'selected favourites');
      await page.getByRole('button', { name: 'Collections', exact: true }).click();
      await page.getByRole('dialog').waitFor();
      await checkPage(page, 'collections');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Import' }).click();
      await page.locator('dialog input[type=file]').setInputFiles(file('library.bib', library));
      await page.getByText('3 unchanged · 1 not imported').waitFor();
      await checkPage(page, 'an import');
      await page.keyboard.press('Escape');
      await page.goto(`${grace.url}/favourites?q=nothing`);
      await page.getByRole('heading', { name: 'No favourites match' }).waitFor();
      await checkPage(page, 'no matches');
    }));
}
