import assert from 'node:assert/strict';
import { checkPage, variants } from './check-page.mjs';
import { agentWithFiles, guideHtml, pdfFile, surveyPdf } from './files.mjs';
import { ask, demo, eventually, open as openPage, placeOf, removeAgent, test } from './harness.mjs';

let created;
/** An agent with a PDF file and a web page, shared by the tests. */
async function harbour() {
  created ??= (async () => {
    const page = await openPage(demo, '/chat');
    const agent = await agentWithFiles(page, 'Harbour', { 'survey.pdf': surveyPdf, 'guide.html': guideHtml });
    await page.context().close();
    return agent;
  })();
  return created;
}
const searchPath = async (words) => `/search?${new URLSearchParams({ agent: (await harbour()).id, q: words })}`;

/** Opens the first result of a search and waits until the original is shown. */
async function openSurvey(open, options) {
  const page = await open(demo, await searchPath('dredger Cormorant'), options);
  await page.locator('li h2 button').first().click();
  await page.locator('[data-reader=ready]').waitFor();
  return page;
}
const box = (page, kind) => page.locator(`[data-page] [data-kind=${kind}]`);
const isVisible = (locator) =>
  locator.evaluate((el) => {
    const scroller = el.closest('[role=region]').getBoundingClientRect();
    const own = el.getBoundingClientRect();
    return own.top >= scroller.top && own.bottom <= scroller.bottom;
  });
const pageField = (page) => page.getByRole('textbox', { name: 'Page', exact: true });
const waitForPage = (page, n) =>
  page.waitForFunction((want) => document.querySelector('[aria-label=Page]')?.value === want, String(n));

test('a search result opens the PDF at its page with the passage marked', async (open) => {
  const page = await openSurvey(open);
  await box(page, 'quote').first().waitFor();
  assert.equal(
    await box(page, 'quote')
      .first()
      .evaluate((b) => b.closest('[data-page]').dataset.page),
    '4',
  );
  await eventually(async () => assert.ok(await isVisible(box(page, 'quote').first())));
  await waitForPage(page, 4);
  await page.locator('[data-page="4"] canvas').waitFor();
  await page.getByRole('tab', { name: 'Text' }).click();
  await page.getByRole('tabpanel').getByText('removed ninety thousand tons').waitFor();
  await page.keyboard.press('ArrowLeft');
  await page.locator('[data-reader=ready]').waitFor();
});

test('a citation opens the PDF with the quoted sentence marked', async (open) => {
  const page = await open(demo, `/chat?agent=${(await harbour()).id}`);
  const answer = await ask(page, 'What did the dredger Cormorant remove?');
  await answer.getByRole('button', { name: 'Open source 1' }).first().click();
  await box(page, 'quote').first().waitFor();
  const marked = () =>
    page.locator('[data-page="4"]').evaluate((el) => {
      const boxes = [...el.querySelectorAll('[data-kind=quote]')].map((b) => b.getBoundingClientRect());
      return [...el.querySelectorAll('.textLayer span')]
        .filter((s) => {
          const own = s.getBoundingClientRect();
          return boxes.some((b) => Math.abs(b.top - own.top) < 3 && Math.abs(b.left - own.left) < 3);
        })
        .map((s) => s.textContent);
    });
  await eventually(async () =>
    assert.deepEqual(await marked(), [
      'The dredger Cormorant removed ninety thousand tons of gravel from the',
      'northern approach before the winter storms.',
    ]),
  );
});

test('the PDF is searched, zoomed and paged by keyboard', async (open) => {
  const page = await openSurvey(open);
  await box(page, 'quote').first().waitFor();
  const pages = page.getByRole('region', { name: 'Pages of the original' });
  await pages.focus();
  await page.keyboard.press('Control+f');
  const field = page.getByRole('searchbox', { name: 'Search in this document' });
  await field.fill('soundings WERE repeated');
  await page.getByText('4 of 4').or(page.getByText('3 of 4')).waitFor();
  await box(page, 'current').first().waitFor();
  await field.press('Enter');
  await field.press('Shift+Enter');
  await field.fill('station by station');
  await page.getByText(/^\d of 4$/).waitFor();
  await field.fill('a word that is missing');
  await page.getByText('No matches').waitFor();
  await field.press('Escape');
  await field.waitFor({ state: 'detached' });
  await page.getByRole('complementary').waitFor();

  const width = () => page.locator('[data-page="1"]').evaluate((el) => el.getBoundingClientRect().width);
  const fitted = (await placeOf(page.locator('[data-page="1"]'))).width;
  await page.keyboard.press('+');
  await eventually(async () => assert.ok((await width()) > 1.2 * fitted));
  await page.keyboard.press('0');
  await eventually(async () => assert.equal(await width(), fitted));
  await page.keyboard.press('Home');
  await waitForPage(page, 1);
  await page.keyboard.press('ArrowRight');
  await waitForPage(page, 2);
  await pageField(page).fill('5');
  await page.keyboard.press('Enter');
  await waitForPage(page, 5);
  await page.getByRole('button', { name: 'Page thumbnails' }).click();
  await page.getByRole('navigation', { name: 'Page thumbnails' }).locator('canvas').nth(2).waitFor();
  await page.getByRole('button', { name: 'Page 3', exact: true }).click();
  await waitForPage(page, 3);
  await page.getByRole('button', { name: 'Full screen' }).click();
  await page.waitForFunction(
    () => document.querySelector('[data-reader]').getBoundingClientRect().width === innerWidth,
  );
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Full screen' }).waitFor();
});

test('while the PDF loads its progress is shown, and a missing file leads to the text', async (open) => {
  const page = await open(demo, await searchPath('dredger Cormorant'), { expectErrors: true });
  let release;
  const held = new Promise((done) => {
    release = done;
  });
  await page.route('**/original', async (r) => {
    await held;
    await r.fulfill({ status: 404, contentType: 'application/problem+json', body: '{}' });
  });
  await page.locator('li h2 button').first().click();
  await page.getByRole('progressbar', { name: 'Loading the original' }).waitFor();
  release();
  await page.getByText('The original file isn’t stored anymore. This is its text.').waitFor();
  await page.locator('aside mark').first().waitFor();
  await eventually(async () => assert.equal(await page.getByRole('tab').count(), 0));
});

test('a damaged PDF leads to the text', async (open) => {
  const page = await open(demo, await searchPath('dredger Cormorant'));
  await page.route('**/original', (r) =>
    r.fulfill({ status: 200, contentType: 'application/pdf', body: '<html>not a PDF</html>' }),
  );
  await page.locator('li h2 button').first().click();
  await page.getByText('The original can’t be shown because the file is damaged. This is its text.').waitFor();
  await page.locator('aside mark').first().waitFor();
});

test('the PDF reader is loaded only when a PDF is opened', async (open) => {
  const page = await open(demo);
  const loaded = [];
  page.on('response', (r) => {
    if (/PdfViewer|worker/.test(new URL(r.url()).pathname.split('/').pop())) loaded.push(r.url());
  });
  await page.goto(demo.url + (await searchPath('tide gauge')));
  await page.getByRole('button', { name: 'Guide to the tide gauge' }).first().click();
  await page.getByRole('complementary').getByText('eye level').first().waitFor();
  assert.deepEqual(loaded, []);
});

test('a long PDF draws only the pages near the viewport', async (open) => {
  const page = await open(demo, '/chat');
  const many = pdfFile(Array.from({ length: 300 }, (_, i) => [`The harbour gauge basin, sheet ${i + 1}`]));
  const agent = await agentWithFiles(page, 'Sheets', { 'sheets.pdf': many });
  await page.goto(`${demo.url}/search?${new URLSearchParams({ agent: agent.id, q: 'harbour basin' })}`);
  await page.locator('li h2 button').first().click();
  await page.locator('[data-reader=ready]').waitFor();
  await pageField(page).fill('250');
  await page.keyboard.press('Enter');
  await page.locator('[data-page="250"] canvas').waitFor();
  await page.locator('[data-page="250"] .textLayer').getByText('sheet 250').waitFor();
  await eventually(async () => {
    const drawn = await page.locator('[data-page] canvas').count();
    assert.ok(drawn <= 12, `${drawn} canvases`);
  });
  await removeAgent(page, agent.id);
});

test('a PDF with an encoding that it does not contain is shown', async (open) => {
  const page = await open(demo, '/chat');
  const chart = pdfFile([['The chart of the harbour gauge basin', '海港测量报告']]);
  const agent = await agentWithFiles(page, 'Charts', { 'chart.pdf': chart });
  const encodings = [];
  page.on('response', (r) => {
    if (r.url().endsWith('.bcmap')) encodings.push(r.status());
  });
  await page.goto(`${demo.url}/search?${new URLSearchParams({ agent: agent.id, q: 'chart harbour' })}`);
  await page.locator('li h2 button').first().click();
  await page.locator('[data-page="1"] .textLayer').getByText('海港测量报告').waitFor();
  await eventually(async () =>
    assert.ok(encodings.length > 0 && encodings.every((status) => status === 200), String(encodings)),
  );
  await removeAgent(page, agent.id);
});

test('a document that is not a PDF shows headings, lists and tables, and can be downloaded', async (open) => {
  const page = await open(demo, await searchPath('marigraph levels'));
  await page.getByRole('button', { name: 'Guide to the tide gauge' }).first().click();
  const panel = page.getByRole('complementary');
  await panel.getByRole('heading', { name: 'Reading the gauge' }).waitFor();
  await eventually(async () => assert.equal(await panel.getByRole('columnheader').first().textContent(), 'Level'));
  await eventually(async () => assert.equal(await panel.getByRole('cell', { name: '4.12 m' }).count(), 1));
  const items = async () =>
    (await panel.getByRole('listitem').allTextContents()).map((s) => s.replace(/\s+/g, ' ').trim());
  await eventually(async () =>
    assert.deepEqual(
      await items(),
      [
        '1. Open the well.',
        '2. Wait until the float rests.',
        '3. Read the scale.',
        '• Heights refer to the chart datum.',
        '• Storm surges are not included.',
      ].map((s) => s.replace(' ', '')),
    ),
  );
  await eventually(async () => assert.ok(!(await panel.textContent()).includes('##'), 'marks are not shown'));
  await eventually(async () => assert.ok(await isVisible(panel.locator('mark').first())));
  await eventually(async () => assert.equal(await panel.getByRole('tab').count(), 0));
  const saving = page.waitForEvent('download');
  await panel.getByRole('link', { name: 'Download original' }).click();
  assert.equal((await saving).suggestedFilename(), 'guide.html');
});

test('pages of an extracted text are divided', async (open) => {
  const page = await openSurvey(open);
  await page.getByRole('tab', { name: 'Text' }).click();
  const panel = page.getByRole('tabpanel');
  await panel.getByText('Page 3', { exact: true }).waitFor();
  const lines = (await panel.innerText()).split('\n').map((l) => l.trim());
  assert.ok(lines.includes('The soundings were repeated in the spring.'), 'a page ends its last line');
  assert.ok(!lines.some((l) => /\S3\. ?Section/.test(l)), 'a heading begins on its own line');
});

test('the text of documents is accessible in light, dark and on phones', async (open) => {
  for (const [variant, options] of Object.entries(variants)) {
    const page = await open(demo, await searchPath('marigraph levels'), { bypassCSP: true, ...options });
    await page.getByRole('button', { name: 'Guide to the tide gauge' }).first().click();
    await page.locator('aside mark').first().waitFor();
    await checkPage(page, `the text of a document, ${variant}`);
  }
});

test('the PDF reader is accessible in light, dark and on phones', async (open) => {
  for (const [variant, options] of Object.entries(variants)) {
    const page = await openSurvey(open, { bypassCSP: true, ...options });
    await box(page, 'quote').first().waitFor();
    await page.getByRole('button', { name: 'Search in this document' }).click();
    await page.getByRole('button', { name: 'Page thumbnails' }).click();
    await page.getByRole('navigation', { name: 'Page thumbnails' }).locator('canvas').first().waitFor();
    await checkPage(page, `the PDF reader, ${variant}`);
  }
});
