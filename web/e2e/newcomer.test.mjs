// What a newcomer does in the first five minutes, with the number of clicks that each task takes.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { surveyPdf } from './files.mjs';
import { ask, demo, removeAgent, test } from './harness.mjs';

/**
 * The most clicks that a task may take. Typing, the Enter key and dropping a file are none. The first web app took:
 * upload 6 (agents, new agent, create, all sources, the source, choose files), ask 4 (chat, the list of agents, the
 * agent, the question's field), check a citation 1 but without the PDF, save 1, export 2 but only as Markdown,
 * connect 4.
 */
const mostClicks = { upload: 2, ask: 0, 'check a citation': 1, save: 1, export: 2, connect: 4 };

test('a newcomer uploads, asks, checks, saves, exports and connects in a few clicks', async (open, t) => {
  const page = await open(demo, '/start?new');
  const clicks = {};
  const task = async (name, steps) => {
    clicks[name] = 0;
    await steps((locator) => {
      clicks[name]++;
      return locator.click();
    });
  };
  const file = join(mkdtempSync(join(tmpdir(), 'carrel-')), 'survey.pdf');
  writeFileSync(file, surveyPdf);

  await task('upload', async (click) => {
    await page.getByLabel('Name').fill('Newcomer');
    await click(page.getByRole('button', { name: 'Continue' }));
    const chooser = page.waitForEvent('filechooser');
    await click(page.getByText('Choose files'));
    await (await chooser).setFiles(file);
    await page.getByRole('heading', { name: 'Newcomer is ready' }).waitFor();
  });
  const agentId = new URL(page.url()).searchParams.get('agent');

  await page.getByRole('link', { name: 'Ask your own question' }).click();
  let answer;
  await task('ask', async () => {
    answer = await ask(page, 'What did the dredger Cormorant remove?');
  });
  await task('check a citation', async (click) => {
    await click(answer.getByRole('button', { name: 'Open source 1' }).first());
    await page.locator('[data-page] [data-kind=quote]').first().waitFor();
  });
  await task('save', async (click) => {
    await click(page.locator('aside').getByRole('button', { name: 'Favourite' }).first());
  });
  await task('export', async (click) => {
    await click(page.getByRole('button', { name: 'Chat options' }).first());
    const download = page.waitForEvent('download');
    await click(page.getByRole('link', { name: 'Export as PDF' }));
    assert.match((await download).suggestedFilename(), /\.pdf$/);
  });
  await task('connect', async (click) => {
    await click(page.getByRole('link', { name: 'Settings' }).first());
    await click(page.getByRole('link', { name: 'Connect', exact: true }));
    await click(page.getByRole('button', { name: 'Cursor' }));
    await click(page.getByRole('button', { name: 'Create code' }));
    await page.getByRole('timer').waitFor();
  });

  t.diagnostic(
    Object.entries(clicks)
      .map(([name, n]) => `${name}: ${n}`)
      .join(', '),
  );
  assert.deepEqual(clicks, mostClicks);
  await removeAgent(page, agentId);
});
