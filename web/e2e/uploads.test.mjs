import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { checkPage, variants } from './check-page.mjs';
import { zipFile } from './files.mjs';
import { agentOf, api, demo, eve, member, slow, test, eventually } from './harness.mjs';

/** Writes a folder `papers` with these files and returns its path. */
function writeFolder(files) {
  const root = join(mkdtempSync(join(tmpdir(), 'carrel-')), 'papers');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

const folder = {
  'mill.md': '# The mill\n\nThe looms ran.',
  '2020/notes.txt': 'Notes of the first year.',
  '2021/notes.txt': 'Notes of the second year.',
  'broken.pdf': 'no PDF at all',
  'photo.exe': 'no document',
  '.DS_Store': 'x',
  '.git/config': 'x',
  'Thumbs.db': 'x',
};

/** Creates an agent, opens its library, and deletes the agent at the end of the test. */
async function openLibrary(open, t, name, server = slow, options = {}) {
  const page = await open(server, '/sources', { expectErrors: true, ...options });
  const { agent } = await api(page, 'POST', '/api/agents', { name });
  const path = `/api/agents/${agent.id}`;
  const cookie = (await page.context().cookies()).map((c) => `${c.name}=${c.value}`).join('; ');
  t.after(async () => {
    const gone = await fetch(server.url + path, { method: 'DELETE', headers: { Cookie: cookie, Origin: server.url } });
    assert.equal(gone.status, 200);
  });
  const url = `${server.url}/sources/${agent.defaultSourceId}?agent=${agent.id}`;
  await page.goto(url);
  await page.getByText('Drop files or folders here').waitFor();
  return { page, url, agent, source: `${path}/sources/${agent.defaultSourceId}` };
}

const rows = (page) => page.getByRole('list', { name: 'Uploads' }).getByRole('listitem');
const row = (page, name) => rows(page).filter({ hasText: name });

/** The rows of the list as [path, result]. */
const results = (page) =>
  rows(page).evaluateAll((all) =>
    all.map((li) => [...li.querySelectorAll('p')].map((p) => p.textContent.trim().replace(/\s+/g, ' '))).sort(),
  );

const added = (path) => [path, 'Added'];

test('a chosen folder keeps its paths, and every file has its result once', async (open, t) => {
  const { page, source } = await openLibrary(open, t, 'Chosen folder');
  await page.getByLabel('Choose folder').setInputFiles(writeFolder(folder));
  await page.getByRole('heading', { name: 'Results of 5 files' }).waitFor();
  await page.getByText('3 added · 2 refused · 3 hidden or system files left out').waitFor();
  const got = await results(page);
  assert.deepEqual(
    got.filter(([, result]) => result === 'Added'),
    ['papers/2020/notes.txt', 'papers/2021/notes.txt', 'papers/mill.md'].map(added),
  );
  assert.match(got.find(([path]) => path === 'papers/photo.exe')[1], /^Refused · This file format is not supported/);
  assert.equal(got.find(([path]) => path === 'papers/broken.pdf')[1], 'Refused · is not a PDF file, or is damaged');
  await eventually(async () =>
    assert.equal(await page.getByText('is not a PDF file').count(), 1, 'the reason is shown once'),
  );
  const { documents } = await api(page, 'GET', `${source}/documents`);
  assert.deepEqual(
    documents.map((d) => d.externalId).sort(),
    ['papers/2020/notes.txt', 'papers/2021/notes.txt', 'papers/mill.md'],
    'files of the same name in two folders are two documents',
  );
  await page.getByRole('button', { name: '2 problems' }).click();
  await eventually(async () =>
    assert.deepEqual(
      (await results(page)).map(([path]) => path),
      ['papers/broken.pdf', 'papers/photo.exe'],
    ),
  );

  // The same folder again, with one change.
  await page
    .getByLabel('Choose folder')
    .setInputFiles(writeFolder({ ...folder, 'mill.md': '# The mill\n\nIt closed.' }));
  await page.getByText('1 updated · 2 unchanged · 2 refused').waitFor();
  await page.getByText('Uploaded files · Default · 3 documents').waitFor();
});

test('a dropped folder of more than 100 files is read completely', async (open, t) => {
  const { page } = await openLibrary(open, t, 'Dropped folder');
  const many = Object.fromEntries(Array.from({ length: 130 }, (_, i) => [`deep/er/${i}.txt`, `Text number ${i}.`]));
  await dropOn(page, [writeFolder({ ...many, '.hidden/x.txt': 'x' }), writeFolder(folder)]);
  await page.getByText('133 added · 2 refused · 4 hidden or system files left out').waitFor();
  await eventually(async () => assert.equal(await rows(page).count(), 50, 'the list is paged'));
  await page.getByRole('button', { name: 'Show 85 more' }).click();
  await eventually(async () => assert.equal(await rows(page).count(), 100));
  await row(page, 'papers/deep/er/7.txt').first().waitFor();
});

/** Drops real files and folders of the disk on the page. */
async function dropOn(page, paths) {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'])
    await session.send('Input.dispatchDragEvent', { type, x: 400, y: 400, data });
}

test('an archive keeps its folders', async (open, t) => {
  const { page, source } = await openLibrary(open, t, 'Archive');
  await page.getByLabel('Choose files').setInputFiles({
    name: 'library.zip',
    mimeType: 'application/zip',
    buffer: zipFile({
      'a/notes.txt': 'The first notes.',
      'b/notes.txt': 'The second notes.',
      '__MACOSX/a/notes.txt': 'x',
    }),
  });
  await row(page, 'library.zip').getByText('Added', { exact: true }).waitFor();
  const { documents } = await api(page, 'GET', `${source}/documents`);
  assert.deepEqual(documents.map((d) => d.externalId).sort(), ['library.zip/a/notes.txt', 'library.zip/b/notes.txt']);
});

/** Counts the requests by method and file name. A created upload has the name in its metadata. */
function countRequests(source) {
  const sent = [];
  source.on('request', (r) => {
    if (!r.url().includes('/uploads')) return;
    const metadata = r.headers()['upload-metadata'];
    if (metadata) sent.push(`create ${Buffer.from(metadata.split(' ')[1], 'base64')}`);
    else if (r.method() === 'PATCH') sent.push(`append ${r.headers()['upload-offset']}`);
  });
  return sent;
}

test('an upload continues after a reload without sending a file twice', async (open, t) => {
  const { page, url } = await openLibrary(open, t, 'Reload');
  const context = page.context();
  const sent = countRequests(context);
  // The third file and all later ones are held back until the reload.
  let creations = 0;
  let hold = true;
  await page.route('**/uploads', async (r) => {
    if (hold && r.request().method() === 'POST' && ++creations > 2) return; // never answered
    await r.continue();
  });
  await page.getByLabel('Choose files').setInputFiles(
    Array.from({ length: 6 }, (_, i) => ({
      name: `${i}.txt`,
      mimeType: 'text/plain',
      buffer: Buffer.from(`Text number ${i}.`),
    })),
  );
  await page.getByText('2 added').waitFor();
  await eventually(async () => assert.equal(await storedUploads(page, 'outcome'), 2));
  hold = false;
  sent.length = 0;
  await page.reload();
  await page.getByText('Upload of 4 files resumed.').waitFor();
  await page.getByText('6 added').waitFor();
  assert.deepEqual(
    sent.filter((s) => s.startsWith('create')).sort(),
    ['2.txt', '3.txt', '4.txt', '5.txt'].map((n) => `create ${n}`),
  );
  // The queue is forgotten once it is done.
  await page.reload();
  await page.getByText('Uploaded files · Default · 6 documents').waitFor();
  await eventually(async () => assert.equal(await rows(page).count(), 0));
  await eventually(async () => assert.equal(await storedUploads(page), 0));
  assert.equal(page.url(), url);
});

/** The number of files that the browser has stored, or of those with a property. */
const storedUploads = (page, property) =>
  page.evaluate(
    (wanted) =>
      new Promise((resolve, reject) => {
        const request = indexedDB.open('carrel-uploads');
        request.onerror = () => reject(request.error);
        request.onsuccess = () => {
          const db = request.result;
          const end = (n) => {
            db.close();
            resolve(n);
          };
          if (!db.objectStoreNames.contains('files')) return end(0);
          const all = db.transaction('files').objectStore('files').getAll();
          all.onsuccess = () => end(all.result.filter((file) => !wanted || file[wanted]).length);
        };
      }),
    property,
  );

test('a file that was sent in part continues after the tab is closed', async (open, t) => {
  const { page, url } = await openLibrary(open, t, 'Closed tab');
  // Without timers the tab does not try again: a request that is under way when it closes may reach the server.
  await page.evaluate(() => (window.setTimeout = () => 0));
  await page.route('**/uploads/*', (r) =>
    Number(r.request().headers()['upload-offset']) > 0 ? r.abort('connectionreset') : r.continue(),
  );
  const large = join(mkdtempSync(join(tmpdir(), 'carrel-')), 'large.txt');
  writeFileSync(large, 'The looms of the mill ran day and night. '.repeat(120_000));
  const second = page.waitForRequest((r) => Number(r.headers()['upload-offset']) > 0);
  await page.getByLabel('Choose files').setInputFiles(large);
  await second;
  const other = await page.context().newPage();
  const sent = countRequests(other);
  await other.goto(url);
  await other.getByText('Drop files or folders here').waitFor();
  await eventually(async () => assert.equal(await rows(other).count(), 0, 'an open tab keeps its files'));
  await page.close();
  await row(other, 'large.txt').getByText('Added', { exact: true }).waitFor();
  assert.deepEqual(sent, [`append ${4 * 1024 * 1024}`]);
});

test('two tabs do not send the same queue', async (open, t) => {
  const { page, url } = await openLibrary(open, t, 'Two tabs');
  const context = page.context();
  const sent = countRequests(context);
  let release;
  const held = new Promise((done) => (release = done));
  await context.route('**/uploads', async (r) => {
    if (r.request().method() === 'POST') await held;
    await r.continue().catch(() => {});
  });
  await page.getByLabel('Choose files').setInputFiles([text('one.txt'), text('two.txt')]);
  await page.getByText('Uploading: 0 of 2 files').waitFor();
  const other = await context.newPage();
  await other.goto(url);
  await other.getByLabel('Choose files').setInputFiles([text('three.txt')]);
  await other.getByText('Uploading: 0 of 1 files').waitFor();
  release();
  await page.getByText('2 added').waitFor();
  await other.getByText('1 added').waitFor();
  assert.deepEqual(sent.filter((s) => s.startsWith('create')).sort(), [
    'create one.txt',
    'create three.txt',
    'create two.txt',
  ]);
});

const text = (name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(`The text of ${name}.`) });

test('signing out deletes the queue, and another account does not see it', async (open, t) => {
  const { page } = await openLibrary(open, t, 'Sign out', eve, {});
  await page.route('**/uploads', (r) => (r.request().method() === 'POST' ? undefined : r.continue()));
  await page.getByLabel('Choose files').setInputFiles([text('private.txt')]);
  await page.getByText('Uploading: 0 of 1 files').waitFor();
  await page.waitForFunction(() => localStorage.getItem('carrel.uploads'));
  // A session that expired, and another account that signs in.
  const cookies = await page.context().cookies();
  const grace = await open(member, '/chat');
  const others = await grace.context().cookies();
  await page.context().clearCookies();
  await page.context().addCookies(others);
  await page.goto(`${member.url}/chat`);
  await page.waitForFunction(() => !localStorage.getItem('carrel.uploads'));
  await eventually(async () => assert.equal(await storedUploads(page), 0));
  // Signing out, with a queue.
  await page.context().clearCookies();
  await page.context().addCookies(cookies);
  await page.goto(`${eve.url}/settings/profile`);
  await page.evaluate(() => localStorage.setItem('carrel.uploads', 'yes'));
  await page.evaluate(
    () =>
      new Promise((resolve) => {
        const request = indexedDB.open('carrel-uploads');
        request.onsuccess = () => {
          const put = request.result.transaction('files', 'readwrite');
          put.objectStore('files').put({ id: 'x', owner: 'usr/x', file: new File(['x'], 'x') });
          put.oncomplete = () => {
            request.result.close();
            resolve();
          };
        };
      }),
  );
  await eventually(async () => assert.equal(await storedUploads(page), 1));
  await page.route('**/sign-out', (r) => r.fulfill({ contentType: 'text/html', body: '<title>Signed out</title>' }));
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL('**/sign-out');
  await eventually(async () => assert.equal(await storedUploads(page), 0));
});

test('a busy server is asked again after the time it names, and limits are named', async (open, t) => {
  const { page } = await openLibrary(open, t, 'Busy');
  const problem = (status, code, detail, headers = {}) => ({
    status,
    headers: { 'Content-Type': 'application/problem+json', ...headers },
    body: JSON.stringify({ status, code, detail }),
  });
  const replies = [
    problem(503, 'unavailable', 'The server is busy.', { 'Retry-After': '1' }),
    problem(413, 'body_too_large', 'The file is larger than 1024 MiB. Split it.'),
    problem(403, 'quota_exceeded', 'The plan of this account has room for 1 MB of documents.'),
  ];
  let seen;
  const asked = new Promise((done) => {
    seen = done;
  });
  await page.route('**/uploads', async (r) => {
    const reply = r.request().method() === 'POST' && replies.shift();
    if (reply?.status === 413) await asked; // until the page was read
    await (reply ? r.fulfill(reply) : r.continue());
  });
  await page.getByLabel('Choose files').setInputFiles([text('a.txt')]);
  await page.getByText('The server is busy. The upload continues in a moment.').waitFor();
  seen();
  await page.getByText('Refused · The file is larger than 1024 MiB. Split it.').waitFor();
  await page.getByRole('button', { name: 'Retry: a.txt' }).click();
  await page.getByText('Refused · The plan of this account has room for 1 MB of documents.').waitFor();
  await page.getByRole('button', { name: 'Retry: a.txt' }).click();
  await row(page, 'a.txt').getByText('Added', { exact: true }).waitFor();
});

test('2,000 files are shown in pages and can be cancelled', async (open, t) => {
  const { page } = await openLibrary(open, t, 'Many files');
  await page.route('**/uploads', (r) => (r.request().method() === 'POST' ? undefined : r.continue()));
  const started = [];
  page.on('request', (r) => r.url().endsWith('/uploads') && started.push(r.url()));
  const many = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`${i}.txt`, `Text number ${i}.`]));
  await page.getByLabel('Choose folder').setInputFiles(writeFolder(many));
  await page.getByText('Uploading: 0 of 2,000 files').waitFor();
  await eventually(async () => assert.equal(await rows(page).count(), 50));
  await page.waitForFunction(() => localStorage.getItem('carrel.uploads'));
  await page.getByRole('button', { name: 'Cancel upload' }).click();
  await page.getByText('2,000 cancelled').waitFor();
  assert.equal(started.length, 3, 'at most three files are sent at once');
  await page.getByRole('button', { name: 'Dismiss results' }).click();
  await eventually(async () => assert.equal(await rows(page).count(), 0));
});

test('an agent without the right to upload offers no upload', async (open) => {
  const owner = await open(demo, '/agents');
  const agent = await agentOf(owner);
  const page = await open(member, '/sources', { expectErrors: true });
  await page.route('**/api/agents?*', async (r) => {
    const reply = await (await r.fetch()).json();
    const shared = { ...agent, capabilities: ['search'] };
    await r.fulfill({ json: { ...reply, agents: [shared] } });
  });
  await page.goto(`${member.url}/chat`);
  await page.getByText('You can’t chat with this agent right now.').waitFor();
  const sent = countRequests(page.context());
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [writeFolder(folder)], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop']) {
    await session.send('Input.dispatchDragEvent', { type, x: 400, y: 400, data });
    await eventually(async () => assert.equal(await page.getByText('Drop files or folders to upload').count(), 0));
  }
  assert.deepEqual(sent, []);
  assert.equal(new URL(page.url()).pathname, '/chat', 'the browser does not open the file');
});

for (const [variant, options] of Object.entries(variants))
  test(`the results of an upload are accessible and fit, ${variant}`, async (open, t) => {
    const { page } = await openLibrary(open, t, `Results ${variant}`, slow, { ...options, bypassCSP: true });
    await page
      .locator('input[webkitdirectory]')
      .setInputFiles(
        writeFolder({ ...folder, [`a long name of a folder ${'x'.repeat(60)}/${'y'.repeat(60)}.txt`]: 'Long.' }),
      );
    await rows(page).nth(5).waitFor();
    await page.locator('h2#uploads-title').waitFor();
    await page.locator('button[aria-pressed]').first().waitFor();
    await checkPage(page, 'the results of an upload');
  });
