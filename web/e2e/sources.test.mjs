import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { slow, test, eventually } from './harness.mjs';

const MIB = 1024 * 1024;

/** Creates a file of the given size on disk: the browser protocol accepts only small files inline. */
function writeLargeFile(name, size) {
  const path = join(mkdtempSync(join(tmpdir(), 'carrel-')), name);
  writeFileSync(path, 'The looms of the mill ran day and night. '.repeat(Math.ceil(size / 41)).slice(0, size));
  return path;
}

async function openLibrary(open, options) {
  const page = await open(slow, '/sources', options);
  await page.getByRole('link', { name: 'Library' }).click();
  await page.getByText('Drop files or folders here').waitFor();
  return page;
}

test('a large file is uploaded in chunks and resumes after a lost connection', async (open) => {
  const page = await openLibrary(open, { expectErrors: true });
  const offsets = [];
  let seen;
  const lost = new Promise((done) => {
    seen = done;
  });
  await page.route('**/uploads/*', async (r) => {
    if (r.request().method() !== 'PATCH') return r.continue();
    const offset = Number(r.request().headers()['upload-offset']);
    offsets.push(offset / MIB);
    if (offsets.length === 1)
      await r.abort('connectionreset'); // the request was lost
    else if (offsets.length === 3) {
      await r.fetch();
      await r.abort('connectionreset');
    } // the request arrived, but its reply was lost
    else {
      await lost;
      await r.continue();
    }
  });
  await page.getByLabel('Choose files').setInputFiles(writeLargeFile('pieces.txt', 9 * MIB));
  const row = page.getByRole('list', { name: 'Uploads' }).getByRole('listitem').filter({ hasText: 'pieces.txt' });
  await page.getByText('Connection lost. The upload resumes automatically.').waitFor();
  seen();
  await row.getByText('has a text of more than 5 MiB').waitFor(); // so all of it has arrived
  assert.deepEqual(offsets, [0, 0, 4, 8], 'received chunks are not sent again');
  await page.getByRole('button', { name: 'Dismiss results' }).click();
  await page.getByRole('button', { name: 'Remove: pieces.txt' }).waitFor();
});

test('a chunked upload can be cancelled and is removed from the server', async (open) => {
  const page = await openLibrary(open, { expectErrors: true });
  await page.route('**/uploads/*', (r) => (r.request().method() === 'PATCH' ? new Promise(() => {}) : r.continue()));
  const sending = page.waitForRequest((r) => r.method() === 'PATCH');
  await page.getByLabel('Choose files').setInputFiles(writeLargeFile('given-up.txt', 5 * MIB));
  const started = await sending;
  const deleted = page.waitForResponse((r) => r.request().method() === 'DELETE');
  await page.getByRole('button', { name: 'Cancel: given-up.txt' }).click();
  assert.equal((await deleted).status(), 204);
  assert.equal((await deleted).url(), started.url());
  await page.getByText('Cancelled', { exact: true }).waitFor();
});

test('an import shows live progress, documents and errors', async (open) => {
  const page = await open(slow);
  await page.addInitScript(() => {
    const real = window.fetch;
    window.fetch = (input, init) => {
      if (!/\/sources\/[^/]+\/events/.test(String(input))) return real(input, init);
      return Promise.resolve(
        new Response(
          new ReadableStream({
            start(c) {
              window.push = (event, data) =>
                c.enqueue(new TextEncoder().encode(`id: 9.1\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
            },
          }),
        ),
      );
    };
  });
  await page.goto(`${slow.url}/sources`);
  await page.getByRole('link', { name: 'Library' }).click();
  await page.waitForFunction(() => window.push);
  const push = (event, data) => page.evaluate(([e, d]) => window.push(e, d), [event, data]);
  const report = {
    files: { total: 5, done: 1, unchanged: 0, failed: 0, removed: 0 },
    bytes: { total: 1000, done: 200 },
    documents: { added: 7, updated: 0, unchanged: 0, deleted: 0 },
    failed: 0,
  };
  await push('progress', { ...report, current: 'second.pdf', etaSeconds: 12 });
  await page.getByText('Importing file 1 of 5').waitFor();
  await page.getByText('second.pdf').waitFor();
  await page.getByText('7 documents · 12 seconds left').waitFor();
  await push('progress', { ...report, failed: 1, errors: [] });
  await page.getByText('7 documents · 1 file couldn’t be read').waitFor();
  await page.getByText('12 seconds left').waitFor({ state: 'detached' });
  const reloaded = page.waitForResponse((r) => r.url().endsWith('/sources'));
  await push('done', { status: 'complete' });
  await reloaded;
  await page.getByText('Importing file').waitFor({ state: 'detached' });
});

test('an unreadable file shows the reason once, without a reload', async (open) => {
  const page = await openLibrary(open);
  await page.getByLabel('Choose files').setInputFiles({
    name: 'broken.pdf',
    mimeType: 'application/pdf',
    buffer: Buffer.from('no PDF at all'),
  });
  const files = page.locator('section[aria-labelledby=files]');
  const reason = page.getByText('is not a PDF file, or is damaged');
  await page.getByText('Refused · is not a PDF file, or is damaged').waitFor();
  await page.getByText('1 refused').waitFor();
  await eventually(async () => assert.equal(await reason.count(), 1));
  await eventually(async () => assert.equal(await page.getByText('couldn’t be read').count(), 0));
  await page.getByRole('button', { name: 'Dismiss results' }).click();
  await files.getByText('broken.pdf: is not a PDF file, or is damaged').waitFor();
  await eventually(async () => assert.equal(await reason.count(), 1));
  await page.getByRole('button', { name: 'Remove: broken.pdf' }).click();
  await page.getByRole('button', { name: 'Remove: broken.pdf' }).waitFor({ state: 'detached' });
});

/** Values for the form, by label. */
const valuesByLabel = {
  'Folder path on the server': () => mkdtempSync(join(tmpdir(), 'carrel-folder-')),
  'Page URLs, one per line': () => 'http://127.0.0.1:9/a\nhttp://127.0.0.1:9/b',
  // A feed is fetched at once, the others on the first search.
  URL: (kind) => (kind === 'feed' ? 'http://127.0.0.1:9/feed' : 'https://search.example.org/'),
  Bucket: () => 'papers',
  'API key of the provider': () => 'a-key-of-mine',
};

test('every source kind can be added, edited and deleted', async (open) => {
  const page = await open(slow, '/sources');
  await page.getByRole('button', { name: 'New source' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.locator('option[value=folder]').waitFor({ state: 'attached' });
  const kinds = await dialog
    .locator('option')
    .evaluateAll((all) => all.filter((o) => o.closest('#source-kind')).map((o) => o.value));
  await page.keyboard.press('Escape');
  for (const kind of kinds) {
    await page.getByRole('button', { name: 'New source' }).click();
    await dialog.locator('option[value=folder]').waitFor({ state: 'attached' });
    await dialog.getByLabel('Type').selectOption(kind);
    await dialog.getByLabel('Name', { exact: true }).fill(`My ${kind}`);
    for (const field of await dialog.locator(':is(input, textarea):required:not(#source-name)').all()) {
      const label = await field.evaluate((f) => f.labels[0].textContent.trim());
      await field.fill(valuesByLabel[label](kind));
    }
    if (kind === 'zotero') {
      // A library needs a number or a key.
      await dialog.getByLabel('Library').fill('groups/2510000');
      await dialog.getByLabel('API URL').fill('http://127.0.0.1:9');
    }
    await dialog.getByRole('button', { name: 'Create source' }).click();
    await page.getByRole('heading', { name: `My ${kind}`, level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill(`Our ${kind}`);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: `Our ${kind}`, level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Delete source' }).click();
    await dialog.getByRole('textbox').fill(`Our ${kind}`);
    await dialog.getByRole('button', { name: 'Delete source' }).click();
    await page.getByText(`Our ${kind} deleted.`).waitFor();
  }
  assert.ok(kinds.length > 15);
});

test('a source has a schedule, a secret that is never shown, and can become the default', async (open) => {
  const page = await open(slow, '/sources', { expectErrors: true });
  await page.getByRole('button', { name: 'New source' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Type').selectOption('feed');
  await dialog.getByLabel('Name', { exact: true }).fill('News');
  await dialog.getByLabel('URL').fill('http://127.0.0.1:9/feed.xml');
  await dialog.getByLabel('Sync').selectOption({ label: 'Every 6 hours' });
  await dialog.getByRole('button', { name: 'Create source' }).click();
  await page.getByRole('heading', { name: 'News', level: 1 }).waitFor();
  await page.getByText('http://127.0.0.1:9/feed.xml').first().waitFor();
  const synced = page.waitForResponse((r) => r.url().endsWith('/sync'));
  await page.getByRole('button', { name: 'Sync now' }).click();
  assert.equal((await synced).status(), 200);
  await page.getByRole('button', { name: 'Edit' }).click();
  await eventually(async () => assert.equal(await dialog.getByLabel('Sync').inputValue(), '360'));
  await dialog.getByLabel('URL').fill('ftp://127.0.0.1/feed');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.locator('#source-url-wrong').waitFor();
  await dialog.getByLabel('URL').fill('http://127.0.0.1:9/other.xml');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('http://127.0.0.1:9/other.xml').first().waitFor();
  await page.getByRole('button', { name: 'Make default' }).click();
  await page.getByText('Feed · Default').waitFor();
  await page.getByRole('link', { name: 'Sources' }).last().click();
  await page.getByRole('link', { name: 'Library' }).click();
  await page.getByRole('button', { name: 'Make default' }).click();
  await page.getByText('Uploaded files · Default').waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'News' }).click();
  await page.getByRole('button', { name: 'Delete source' }).click();
  await dialog.getByRole('textbox').fill('News');
  await dialog.getByRole('button', { name: 'Delete source' }).click();
  await page.getByText('News deleted.').waitFor();
});
