import assert from 'node:assert/strict';
import { checkPage, variants } from './check-page.mjs';
import { ask, demo, eventually, slow, test } from './harness.mjs';

const field = (page) => page.getByRole('textbox', { name: 'Message' });
const questions = (page) => page.getByRole('article', { name: 'You' });
const answers = (page) => page.getByRole('article', { name: 'Agent' });

/** Waits until the chat shows these questions and has the answer to the last one. */
async function shows(page, ...texts) {
  await eventually(async () => {
    const shown = await questions(page).locator('p').allTextContents();
    assert.deepEqual(shown, texts);
    assert.equal(await page.locator('[aria-busy=true]').count(), 0);
    assert.equal(await answers(page).count(), texts.length);
  });
}

const versionOf = (page, number, count) => page.getByRole('group', { name: `Version ${number} of ${count}` });

test('a question that is asked again or edited gets another version', async (open) => {
  const page = await open(slow, '/chat');
  await ask(page, 'one');
  await ask(page, 'two');
  await ask(page, 'three');
  await answers(page).nth(1).getByRole('button', { name: 'Ask again' }).click();
  await shows(page, 'one', 'two');
  await versionOf(page, 2, 2).waitFor();

  await questions(page).first().getByRole('button', { name: 'Edit question' }).click();
  const editor = page.getByRole('textbox', { name: 'Edit question' });
  await eventually(async () => assert.equal(await editor.inputValue(), 'one'));
  await eventually(async () => assert.ok(await editor.evaluate((e) => e === document.activeElement)));
  await page.keyboard.press('Escape');
  await editor.waitFor({ state: 'detached' });
  await eventually(async () =>
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Edit question'),
  );
  await page.keyboard.press('Enter');
  await editor.fill('one, edited');
  await page.keyboard.press('Enter');
  await shows(page, 'one, edited');
  await page.getByText('You wrote: one, edited').waitFor();

  await page.getByRole('button', { name: 'Previous version' }).click();
  await shows(page, 'one', 'two');
  await versionOf(page, 1, 2).waitFor();
  await questions(page).nth(1).getByRole('button', { name: 'Previous version' }).click();
  await shows(page, 'one', 'two', 'three');
  await page.reload();
  await shows(page, 'one', 'two', 'three');
  await eventually(async () =>
    assert.ok(await questions(page).first().getByRole('button', { name: 'Previous version' }).isDisabled()),
  );
  await questions(page).first().getByRole('button', { name: 'Next version' }).click();
  await shows(page, 'one, edited');
  await ask(page, 'four');
  await shows(page, 'one, edited', 'four');
});

test('a version that cannot be sent leaves the chat as it was', async (open) => {
  const page = await open(slow, '/chat', { expectErrors: true });
  await ask(page, 'kept');
  await page.route('**/messages', (r) => (r.request().method() === 'POST' ? r.abort() : r.continue()));
  await page.getByRole('button', { name: 'Edit question' }).click();
  const editor = page.getByRole('textbox', { name: 'Edit question' });
  await editor.fill('not sent');
  await page.getByRole('button', { name: 'Send' }).first().click();
  await page.getByRole('button', { name: 'Retry' }).waitFor();
  await eventually(async () => assert.equal(await editor.inputValue(), 'not sent'));
  await page.unroute('**/messages');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await shows(page, 'kept');
});

test('selected search results can be asked about', async (open) => {
  const page = await open(demo, '/search?q=relational+model');
  const boxes = page.getByRole('checkbox', { name: /^Select: / });
  await boxes.first().check();
  await boxes.nth(1).check();
  await page.getByText('2 selected').waitFor();
  await page.getByRole('link', { name: 'Ask about these' }).click();
  const chip = page.getByRole('button', { name: 'Remove: About 2 documents' });
  await chip.waitFor();
  await ask(page, 'Who proposed the relational model?');
  await questions(page).getByText('About 2 documents').waitFor();
  await eventually(async () => assert.match(await answers(page).first().textContent(), /relational/i));
  await chip.click();
  await chip.waitFor({ state: 'detached' });
  await eventually(async () => assert.ok(await field(page).evaluate((f) => f === document.activeElement)));
  await page.reload();
  await questions(page).getByText('About 2 documents').waitFor();
  await eventually(async () => assert.equal(await chip.count(), 0));
});

test('an open document can be asked about', async (open) => {
  const page = await open(demo, '/search?q=relational+model+codd');
  const title = 'A Relational Model of Data for Large Shared Data Banks';
  await page.getByRole('button', { name: title }).first().click();
  await page.getByRole('link', { name: 'Ask about this document' }).click();
  await page.getByRole('button', { name: `Remove: About: ${title}` }).waitFor();
  const answer = await ask(page, 'Who proposed the relational model?');
  await questions(page).getByText(`About: ${title}`).waitFor();
  await answer.getByRole('button', { name: 'Open source 1' }).first().waitFor();
  await answer.getByRole('button', { name: 'Ask again' }).click();
  await versionOf(page, 2, 2).waitFor();
  await eventually(async () => assert.equal(await questions(page).getByText(`About: ${title}`).count(), 1));
});

for (const [name, options] of Object.entries(variants))
  test(`versions and selected documents are accessible: ${name}`, async (open) => {
    const page = await open(demo, '/search?q=relational+model', { ...options, bypassCSP: true });
    const boxes = page.getByRole('checkbox', { name: /^Select: / });
    await boxes.first().check();
    await boxes.nth(1).check();
    await checkPage(page, `selected results, ${name}`);
    await page.getByRole('link', { name: 'Ask about these' }).click();
    await ask(page, 'Who proposed the relational model?');
    await answers(page).first().getByRole('button', { name: 'Ask again' }).click();
    await versionOf(page, 2, 2).waitFor();
    await eventually(async () => assert.equal(await page.locator('[aria-busy=true]').count(), 0));
    await checkPage(page, `versions, ${name}`);
    await page.getByRole('button', { name: 'Edit question' }).click();
    await checkPage(page, `an edited question, ${name}`);
  });
