import assert from 'node:assert/strict';
import { agentOf, api, demo, endToasts, eventually, test } from './harness.mjs';
import { checkPage, variants } from './check-page.mjs';

const settled = (page) => page.locator('[aria-label=Results] .opacity-60').waitFor({ state: 'detached' });
const yearsOf = (page) =>
  page
    .locator('[aria-label=Results] li')
    .evaluateAll((all) => all.map((li) => Number(/ · (\d{4})\b/.exec(li.textContent)?.[1] ?? 0)));

test('results are sorted by year and filtered by fields, and everything is in the URL', async (open) => {
  const page = await open(demo, '/search?q=computer+machine');
  await page.getByLabel('Sort by').selectOption('Oldest');
  await page.waitForURL('**sort=oldest*');
  await eventually(async () => {
    const years = (await yearsOf(page)).filter(Boolean);
    assert.ok(years.length > 5);
    assert.deepEqual(
      years,
      [...years].sort((a, b) => a - b),
    );
  });
  const authors = page.getByRole('group', { name: 'Author' });
  await authors.getByRole('checkbox').first().check();
  await page.waitForURL('**author=*');
  await settled(page);
  const name = new URL(page.url()).searchParams.get('author');
  await eventually(async () => {
    const cards = await page.locator('[aria-label=Results] li').allTextContents();
    assert.ok(cards.length > 0 && cards.every((text) => text.includes(name)), `all by ${name}`);
  });
  const copy = await open(demo, page.url().slice(demo.url.length));
  await copy.getByRole('button', { name: `Remove filter: Author: ${name}` }).click();
  await copy.waitForURL((u) => !u.searchParams.has('author') && u.searchParams.get('sort') === 'oldest');
});

test('the year chart shows the value of a bar on hover and by keyboard', async (open) => {
  const page = await open(demo, '/search?q=computer+machine');
  const chart = page.getByRole('listbox', { name: 'Results by year' });
  await chart.focus();
  const shown = page.locator('figure p span.font-medium');
  await eventually(async () => assert.match(await shown.textContent(), /^\d{4}: \d+ results?$/));
  const first = await shown.textContent();
  await page.keyboard.press('ArrowRight');
  await eventually(async () => assert.notEqual(await shown.textContent(), first));
  const year = /^\d{4}/.exec(await shown.textContent())[0];
  await page.keyboard.press('Enter');
  await page.waitForURL(`**from=${year}&to=${year}*`);
  await page.goto(`${demo.url}/search?q=computer+machine`);
  const bar = chart.getByRole('option').last();
  await bar.hover();
  await eventually(async () => assert.equal(await shown.textContent(), await bar.getAttribute('aria-label')));
});

test('a search is saved, opened, renamed and deleted', async (open) => {
  const page = await open(demo, '/search?q=turing&type=article&sort=year');
  const menu = page.getByRole('button', { name: 'Saved searches' });
  await menu.click();
  await page.getByRole('button', { name: 'Save this search…' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('Articles on Turing');
  await page.keyboard.press('Enter');
  await page.getByText('Search saved.').waitFor();
  await page.goto(`${demo.url}/search`);
  await menu.click();
  await page.getByRole('button', { name: 'Articles on Turing' }).click();
  await page.waitForURL((u) => u.searchParams.get('type') === 'article' && u.searchParams.get('sort') === 'year');
  await page.locator('[aria-label=Results] li').first().waitFor();
  await menu.click();
  await page.getByRole('button', { name: 'Rename or delete…' }).click();
  await page.getByRole('button', { name: 'Rename Articles on Turing' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('Turing');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Delete Turing' }).click();
  await endToasts(page);
  const agent = await agentOf(page);
  await eventually(async () =>
    assert.deepEqual((await api(page, 'GET', `/api/agents/${agent.id}/saved-searches`)).savedSearches, []),
  );
});

test('several results are starred, cited and exported', async (open) => {
  const page = await open(demo, '/search?q=relational+model');
  const boxes = page.getByRole('checkbox', { name: /^Select: / });
  await boxes.first().check();
  await boxes.nth(1).check();
  const bar = page.getByRole('toolbar', { name: '2 selected' });
  await bar.getByRole('button', { name: 'Cite the selected results' }).click();
  await page.getByRole('button', { name: 'CSL-JSON', exact: true }).locator('visible=true').click();
  await page.getByText('CSL-JSON: Copied').waitFor();
  assert.equal(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())).length, 2);
  await bar.getByRole('button', { name: 'Export the selected results' }).click();
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'BibTeX', exact: true }).locator('visible=true').click();
  assert.equal((await saved).suggestedFilename(), 'results.bib');
  const agent = await agentOf(page);
  const favourites = async () => (await api(page, 'GET', `/api/agents/${agent.id}/favourites`)).favourites;
  const before = await favourites();
  await bar.getByRole('button', { name: 'Add to favourites' }).click();
  await page.getByText(/added to favourites\.$/).waitFor();
  const added = (await favourites()).filter((f) => !before.some((b) => b.cardId === f.cardId));
  assert.ok(added.length <= 2);
  for (const f of added) await api(page, 'DELETE', `/api/agents/${agent.id}/favourites/${f.cardId}`);
  await page.getByRole('checkbox', { name: 'Select all shown' }).check();
  await eventually(async () => assert.equal(await boxes.count(), await page.locator('li input:checked').count()));
});

for (const [name, options] of Object.entries(variants))
  test(`filters, selection and saved searches are accessible: ${name}`, async (open) => {
    const page = await open(demo, '/search?q=computer+machine&type=article&sort=oldest', {
      ...options,
      bypassCSP: true,
    });
    if (options.width) await page.getByRole('button', { name: 'Filters' }).click();
    await page
      .getByRole('checkbox', { name: /^Select: / })
      .first()
      .check();
    await page.getByRole('listbox', { name: 'Results by year' }).focus();
    await checkPage(page, name);
    if (process.env.CARREL_WEB_LOOK)
      await page.screenshot({ path: `${process.env.CARREL_WEB_LOOK}/search-${name.replace(/\W+/g, '-')}.png` });
  });
