import assert from 'node:assert/strict';
import { api, ask, demo, eventually, open as browse, slow, test } from './harness.mjs';
import { checkPage, variants } from './check-page.mjs';

const preview = (page) => page.getByRole('tooltip').filter({ has: page.locator('mark') });
const sources = (answer) =>
  answer.locator('details', { has: answer.page().locator('summary', { hasText: /^\d+ sources?$/ }) });
const question = 'Who proposed the relational model?';

test('a citation is previewed on hover and on focus, and nothing moves', async (open) => {
  const page = await open(demo, '/chat');
  const answer = await ask(page, question);
  const mark = answer.getByRole('button', { name: 'Open source 1' }).first();
  const before = await answer.boundingBox();
  await mark.hover();
  await preview(page).waitFor();
  const text = await preview(page).textContent();
  assert.match(text, /A Relational Model of Data/);
  assert.match(text, /Codd · 1970/);
  const quote = await preview(page).locator('mark').textContent();
  assert.ok(quote.length > 10 && text.length > quote.length + 80, 'the quote is in its paragraph');
  assert.deepEqual(await answer.boundingBox(), before);
  await page.keyboard.press('Escape');
  await preview(page).waitFor({ state: 'detached' });
  // By keyboard, the preview describes the button.
  await page.mouse.move(0, 0);
  await mark.focus();
  await preview(page).waitFor();
  await eventually(async () =>
    assert.equal(await mark.getAttribute('aria-describedby'), await preview(page).getAttribute('id')),
  );
  await page.keyboard.press('Enter');
  await page.getByRole('complementary', { name: 'Source 1' }).waitFor();
  await preview(page).waitFor({ state: 'detached' });
});

test('a tap on a citation opens the panel without a preview', async (open) => {
  const page = await open(demo, '/chat', { width: 390, height: 844, touch: true });
  const answer = await ask(page, question);
  await answer.getByRole('button', { name: 'Open source 1' }).first().tap();
  await page.getByRole('complementary', { name: 'Source 1' }).waitFor();
  assert.equal(await preview(page).count(), 0);
});

test('the reason of a marked sentence is shown on hover and on focus', async (open) => {
  const page = await open(slow, '/chat');
  const answer = await ask(page, 'judge');
  const flag = answer.locator('button.flag').first();
  const tip = page.locator('.tip:popover-open');
  await flag.hover();
  await tip.waitFor();
  assert.match(await tip.textContent(), /\w{4,}/);
  await page.mouse.move(0, 0);
  await tip.waitFor({ state: 'detached' });
  await flag.focus();
  await tip.waitFor();
  await page.keyboard.press('Escape');
  await tip.waitFor({ state: 'detached' });
});

test('an answer lists its sources, which open at the quote', async (open) => {
  const page = await open(demo, '/chat');
  const answer = await ask(page, question);
  await sources(answer).locator('summary').click();
  const list = sources(answer).locator('ol').first();
  const codd = list.locator(':scope > li', { hasText: 'A Relational Model of Data' }).first();
  await eventually(async () => assert.match(await codd.textContent(), /Codd · 1970 · Article/));
  await codd.getByRole('button', { name: /^Favourite/ }).waitFor();
  assert.match(await codd.getByRole('link', { name: /^Open original/ }).getAttribute('href'), /^https:/);
  await codd
    .getByRole('button', { name: /^Open source \d+ at the quote/ })
    .first()
    .click();
  const panel = page.getByRole('complementary', { name: /^Source \d+/ });
  await panel.locator('mark').first().waitFor();
});

/** Creates an agent with an empty library, and deletes it after the test. */
async function emptyAgent(page, t, name) {
  const { agent } = await api(page, 'POST', '/api/agents', { name });
  t.after(async () => {
    const other = await browse(demo, '/memories');
    await api(other, 'DELETE', `/api/agents/${agent.id}`);
    await other.context().close();
  });
  return agent;
}
const notes = {
  name: 'harbour-notes.txt',
  mimeType: 'text/plain',
  buffer: Buffer.from(
    'Notes on the harbour\n\nThe great harbour crane was built by Maria Lund in 1911. It lifts ten tons.\n',
  ),
};

test('a file attached to a question is uploaded, and the question is about it alone', async (open, t) => {
  const page = await open(demo, '/chat');
  const agent = await emptyAgent(page, t, 'Attachments');
  await page.goto(`${demo.url}/chat?agent=${agent.id}`);
  await page.getByLabel('Attach files').setInputFiles(notes);
  const field = page.getByRole('textbox', { name: 'Message' });
  await field.fill('Who built the harbour crane?');
  await page.getByRole('button', { name: /^Remove: About: / }).waitFor();
  assert.match(new URL(page.url()).searchParams.get('docs'), /^doc_/);
  await page.keyboard.press('Enter');
  const answer = page.getByRole('article', { name: 'Agent' }).last();
  await eventually(async () => assert.match(await answer.textContent(), /Maria Lund/));
  // A dropped file that can't be read says why, and can be removed.
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array([0x25, 0x50, 0x44, 0x46, 0])], 'broken.pdf', { type: 'application/pdf' }));
    document
      .querySelector('form textarea')
      .dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
  });
  const files = page.getByRole('list', { name: 'Attached files' });
  await files.getByText(/^Couldn’t be read/).waitFor();
  await files.getByRole('button', { name: 'Remove broken.pdf' }).click();
  await files.waitFor({ state: 'detached' });
});

for (const [name, options] of Object.entries(variants))
  test(`previews and sources of answers are accessible: ${name}`, async (open) => {
    const page = await open(demo, '/chat', { ...options, bypassCSP: true });
    const answer = await ask(page, question);
    await sources(answer).locator('summary').click();
    await answer.getByRole('button', { name: 'Open source 1' }).first().focus();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Tab');
    await preview(page).waitFor();
    await checkPage(page, name);
    if (process.env.CARREL_WEB_LOOK)
      await page.screenshot({ path: `${process.env.CARREL_WEB_LOOK}/answer-${name.replace(/\W+/g, '-')}.png` });
  });
