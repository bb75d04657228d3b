import assert from 'node:assert/strict';
import { agentOf, api, demo, slow, test, eventually, placeOf, release } from './harness.mjs';

test('Ctrl+K opens the palette, which is usable by keyboard', async (open) => {
  const page = await open(demo, '/chat');
  await page.getByRole('textbox', { name: 'Message' }).focus();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Commands' }).fill('memor');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/memories');
  await page.getByRole('heading', { name: 'Memories', level: 1 }).waitFor();
});

test('? shows the shortcuts, and the focus returns', async (open) => {
  const page = await open(demo, '/search');
  const button = page.getByRole('button', { name: 'Keyboard shortcuts' });
  await button.focus();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await eventually(async () => assert.ok(await button.evaluate((b) => b === document.activeElement)));
});

test('Ctrl+Shift+O starts a new chat', async (open) => {
  const page = await open(demo, '/search');
  await page.keyboard.press('Control+Shift+O');
  await page.waitForURL('**/chat');
});

test('every state has a URL', async (open) => {
  const page = await open(demo, '/search');
  await page.getByRole('searchbox', { name: 'Search terms' }).fill('computer machine');
  await page.keyboard.press('Enter');
  await page.getByRole('slider', { name: 'From year' }).waitFor();
  await page.getByRole('slider', { name: 'From year' }).focus();
  for (let i = 0; i < 20; i++) await page.keyboard.press('ArrowRight');
  await page.waitForURL('**from=*');
  // Results of an earlier filter may contain documents that the last one excludes.
  await page.locator('[aria-label=Results] .opacity-60').waitFor({ state: 'detached' });
  await page.getByRole('checkbox', { name: /^Article/ }).check();
  await page.waitForURL('**type=article*');
  await page.locator('[aria-label=Results] .opacity-60').waitFor({ state: 'detached' });
  await page.locator('li h2 button').first().click();
  await page.getByRole('complementary').waitFor();
  const copy = await open(demo, page.url().slice(demo.url.length));
  await copy.getByRole('complementary').waitFor();
  await eventually(async () =>
    assert.equal(await copy.getByRole('searchbox', { name: 'Search terms' }).inputValue(), 'computer machine'),
  );
  await eventually(async () =>
    assert.equal(
      await copy.getByRole('slider', { name: 'From year' }).inputValue(),
      await page.getByRole('slider', { name: 'From year' }).inputValue(),
    ),
  );
  await eventually(async () => assert.ok(await copy.getByRole('checkbox', { name: /^Article/ }).isChecked()));
});

test('back restores the scroll', async (open) => {
  const page = await open(demo, '/search?q=computer+machine');
  await page.locator('li h2').nth(10).waitFor();
  await page.locator('#main').evaluate((m) => {
    m.scrollTop = 900;
  });
  await page.waitForFunction(() => document.getElementById('main')?.scrollTop === 900);
  await page.getByRole('link', { name: 'Memories' }).click();
  await page.getByRole('heading', { name: 'Memories', level: 1 }).waitFor();
  await page.goBack();
  await page.waitForFunction(() => document.getElementById('main')?.scrollTop === 900);
});

test('skeletons show while a page loads', async (open) => {
  const page = await open(demo, '/chat');
  let release;
  const held = new Promise((r) => {
    release = r;
  });
  await page.route('**/favourites?*', async (r) => {
    await held;
    await r.continue();
  });
  await page.getByRole('link', { name: 'Favourites' }).click();
  await page.locator('.skeleton').first().waitFor();
  release();
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
});

test('empty states have one action', async (open) => {
  const page = await open(slow, '/favourites');
  await page.getByRole('heading', { name: 'No favourites yet' }).waitFor();
  await eventually(async () =>
    assert.equal(await page.locator('main').getByRole('link', { name: 'Search' }).count(), 1),
  );
});

test('a failed page shows the error, the request id and Retry', async (open) => {
  const page = await open(demo, '/chat', { expectErrors: true });
  await page.route('**/memories?*', (r) =>
    r.fulfill({
      status: 500,
      contentType: 'application/problem+json',
      body: JSON.stringify({ code: 'internal', detail: 'It broke.', status: 500, requestId: 'req_42' }),
    }),
  );
  await page.getByRole('link', { name: 'Memories' }).click();
  await page.getByText('Request req_42').waitFor();
  await page.unroute('**/memories?*');
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.getByRole('alert').waitFor({ state: 'detached' });
});

test('a change shows at once and can be undone for ten seconds', async (open) => {
  const page = await open(slow, '/memories');
  await page.getByRole('textbox', { name: 'New memory' }).fill('Undo me');
  await page.keyboard.press('Enter');
  const row = page.getByRole('listitem').filter({ hasText: 'Undo me' });
  await row.getByRole('button', { name: /^Delete/ }).click();
  await row.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await row.waitFor();
  await row.getByRole('button', { name: /^Delete/ }).click();
  await row.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' });
  const agent = await agentOf(page);
  const { memories } = await api(page, 'GET', `/api/agents/${agent.id}/memories`);
  assert.ok(!memories.some((m) => m.text === 'Undo me'));
});

test('a deletion is sent when further ones hide its Undo', async (open) => {
  const page = await open(slow, '/memories');
  const { id } = await agentOf(page);
  const texts = ['first', 'second', 'third', 'fourth'].map((n) => `The ${n} of four`);
  const made = [];
  for (const text of texts) made.push((await api(page, 'POST', `/api/agents/${id}/memories`, { text })).memory);
  await page.goto(`${slow.url}/memories?agent=${id}`);
  const sent = page.waitForResponse((r) => r.request().method() === 'DELETE');
  for (const text of texts) {
    const row = page.getByRole('listitem').filter({ hasText: text });
    await row.getByRole('button', { name: /^Delete/ }).click();
    await row.waitFor({ state: 'detached' });
  }
  assert.ok((await sent).url().endsWith(made[0].id));
  await eventually(async () => assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 3));
});

test('only irreversible actions ask for a typed confirmation', async (open) => {
  const page = await open(slow, '/agents/new');
  await page.getByLabel('Name').fill('Short-lived');
  await page.getByRole('button', { name: 'Create agent' }).click();
  await page.waitForURL('**/agents/agt_*');
  await page.getByRole('button', { name: 'Delete agent' }).click();
  const dialog = page.getByRole('dialog');
  const confirm = dialog.getByRole('button', { name: 'Delete agent' });
  await eventually(async () => assert.ok(await confirm.isDisabled()));
  await dialog.getByRole('textbox').fill('Short-lived');
  await confirm.click();
  await page.waitForURL('**/agents');
  await eventually(async () => assert.equal(await page.getByRole('link', { name: 'Short-lived' }).count(), 0));
});

test('the theme is light, dark or system, and is remembered', async (open) => {
  const page = await open(demo, '/settings/profile', { dark: true });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.getByRole('button', { name: 'Light' }).waitFor();
  await eventually(async () => assert.equal(await background(), 'rgb(20, 21, 19)'));
  await page.getByRole('button', { name: 'Light' }).click();
  await eventually(async () => assert.equal(await background(), 'rgb(251, 251, 250)'));
  await page.reload();
  await page.getByRole('button', { name: 'Light' }).waitFor();
  await eventually(async () => assert.equal(await background(), 'rgb(251, 251, 250)'));
  await page.getByRole('button', { name: 'System', exact: true }).click();
  await eventually(async () => assert.equal(await background(), 'rgb(20, 21, 19)'));
});

test('titles and dates follow the chosen language', async (open) => {
  const page = await open(demo, '/settings/audit', { locale: 'de-DE' });
  await page.getByRole('heading', { name: 'Aktivität', level: 1 }).waitFor();
  await eventually(async () => assert.equal(await page.title(), 'Aktivität · Carrel'));
  await eventually(async () => assert.equal(await page.evaluate(() => document.documentElement.lang), 'de'));
  await eventually(async () =>
    assert.match(await page.locator('tbody td').first().textContent(), /^\d{2}\.\d{2}\.\d{4}, \d{2}:\d{2}$/),
  );
  await page.goto(`${demo.url}/settings/profile`);
  await page.getByLabel('Sprache').selectOption('en');
  await page.getByRole('heading', { name: 'Profile', level: 1 }).waitFor();
});

test('the sign-in page is in the language chosen in the app', async (open) => {
  const page = await open(demo, '/settings/profile');
  await page.getByLabel('Language').selectOption('de');
  await page.getByRole('heading', { name: 'Profil', level: 1, exact: true }).waitFor();
  await page.goto(`${demo.url}/sign-in`);
  await page.getByRole('heading', { name: 'Anmelden', level: 1 }).waitFor();
  await eventually(async () => assert.equal(await page.evaluate(() => document.documentElement.lang), 'de'));
  // Without the cookie the server follows the browser, which asks for English, until the app opens again.
  await page.context().clearCookies({ name: 'carrel-language' });
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor();
  await page.goto(`${demo.url}/chat`);
  await page.getByRole('textbox', { name: 'Nachricht' }).waitFor();
  await page.goto(`${demo.url}/sign-in`);
  await page.getByRole('heading', { name: 'Anmelden', level: 1 }).waitFor();
});

test('the focus is visible, an answer is announced, and motion can be reduced', async (open) => {
  const page = await open(slow, '/chat', { reducedMotion: 'reduce' });
  await page.getByRole('textbox', { name: 'Message' }).fill('until spun; stream ready');
  await page.keyboard.press('Enter');
  await page.locator('.spin').first().waitFor();
  const spin = page.locator('.spin').first();
  await eventually(async () =>
    assert.ok(parseFloat(await spin.evaluate((s) => getComputedStyle(s).animationDuration)) < 0.001),
  );
  await release('spun');
  await page.locator('[role=status]', { hasText: 'Answer ready.' }).waitFor({ state: 'attached' });
  await page.keyboard.press('Tab');
  await eventually(async () =>
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), 'none'),
  );
});

test('secrets are shown once', async (open) => {
  const page = await open(demo, '/settings/keys');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('browser test');
  await page.getByRole('button', { name: 'Create key' }).click();
  const token = await page.getByRole('dialog').locator('code').textContent();
  assert.match(token, /^crl_/);
  await page.getByRole('button', { name: 'Done' }).click();
  await eventually(async () => assert.ok(!(await page.content()).includes(token)));
  const row = page.getByRole('listitem').filter({ hasText: 'browser test' });
  await row.getByRole('button', { name: /^Revoke/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await row.waitFor({ state: 'detached' });
});

test('a connect code counts down and shows Connected when it is claimed', async (open) => {
  const page = await open(demo, '/settings/connect?client=curl');
  await page.getByRole('button', { name: 'Create code' }).click();
  const timer = page.getByRole('timer');
  await eventually(async () => assert.match(await timer.textContent(), /1[45]:\d\d$/));
  const code = /crlc_\w+/.exec(await page.locator('#main').textContent())[0];
  await eventually(async () =>
    assert.ok((await page.locator('code').first().textContent()).includes(code), 'the snippet holds the code'),
  );
  await api(page, 'POST', '/api/connect/exchange', { code, client: 'claimed-here' });
  await page.getByText('claimed-here connected.').first().waitFor();
  await eventually(async () => assert.ok(!(await page.locator('#main').textContent()).includes(code)));
  await page.goto(`${demo.url}/settings/connections`);
  const revoke = page.getByRole('button', { name: /Revoke.*claimed-here/ });
  await revoke.click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await revoke.waitFor({ state: 'detached' });
});

const file = (name, text) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });

test('each file shows progress and can be cancelled and retried', async (open) => {
  const page = await open(slow, '/sources', { expectErrors: true });
  await page.getByRole('link', { name: 'Library' }).click();
  let release;
  const held = new Promise((r) => {
    release = r;
  });
  let waiting = 0;
  await page.route('**/uploads', async (r) => {
    if (r.request().method() === 'POST') {
      waiting++;
      await held;
    }
    await r.continue().catch(() => {});
  });
  await page
    .getByLabel('Choose files')
    .setInputFiles([file('one.txt', 'The first text about looms.'), file('two.txt', 'The second text about mills.')]);
  await page.getByRole('progressbar', { name: 'Uploading: 0 of 2 files' }).waitFor();
  await eventually(async () => assert.equal(waiting, 2));
  // Otherwise the cancelled request could be sent after all.
  const ended = page.waitForEvent('requestfailed', (r) => r.method() === 'POST' && r.url().endsWith('/uploads'));
  await page.getByRole('button', { name: 'Cancel: two.txt' }).click();
  await page.getByText('Cancelled', { exact: true }).waitFor();
  await ended;
  release();
  await page.getByText('Added', { exact: true }).first().waitFor();
  await page.unroute('**/uploads');
  await page.getByRole('button', { name: 'Retry: two.txt' }).click();
  await page.waitForFunction(() =>
    [...document.querySelectorAll('[aria-label=Uploads] li')].every((li) => li.textContent.includes('Added')),
  );
  await page.locator('section[aria-labelledby=files]').getByText('two.txt').waitFor();
});

test('files can be dropped and pasted anywhere', async (open) => {
  const page = await open(slow, '/search');
  await page.getByRole('searchbox').waitFor();
  for (const [type, key] of [
    ['drop', 'dataTransfer'],
    ['paste', 'clipboardData'],
  ]) {
    const sent = page.waitForResponse((r) => r.url().endsWith('/uploads') && r.request().method() === 'POST');
    await page.evaluate(
      ([t, k]) => {
        const data = new DataTransfer();
        data.items.add(new File([`A text that came by ${t}.`], `${t}.txt`, { type: 'text/plain' }));
        const event =
          t === 'drop'
            ? new DragEvent(t, { dataTransfer: data, bubbles: true, cancelable: true })
            : new ClipboardEvent(t, { [k]: data, bubbles: true, cancelable: true });
        document.querySelector('main').dispatchEvent(event);
      },
      [type, key],
    );
    assert.equal((await sent).status(), 201);
    await page.getByText('Uploading 1 file to Library.').first().waitFor();
  }
});

// unsetStar returns the star of the first result that is no favourite yet.
async function unsetStar(page) {
  const unset = page.locator('button[aria-label^=Favourite][aria-pressed=false]').first();
  const name = await unset.getAttribute('aria-label');
  return page.getByRole('button', { name, exact: true }).first();
}

test('search has a histogram with a range, stars and citations', async (open) => {
  const page = await open(demo, '/search?q=computer+machine');
  const total = Number(/\d+/.exec(await page.getByRole('status').filter({ hasText: 'results' }).textContent())[0]);
  const rows = await eventually(async () => {
    const read = await page
      .locator('table tbody tr')
      .evaluateAll((all) => all.map((r) => [...r.children].map((c) => Number(c.textContent))));
    assert.ok(read.length > 5 && read.reduce((n, r) => n + r[1], 0) <= total);
    return read;
  });
  const to = page.getByRole('slider', { name: 'To year' });
  const box = await placeOf(to);
  await page.mouse.move(box.x + box.width - 11, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL('**to=*');
  await eventually(async () =>
    assert.equal(await page.locator('table tbody tr').count(), rows.length, 'the histogram still shows all results'),
  );
  const star = await unsetStar(page);
  const saved = page.waitForResponse((r) => r.request().method() === 'POST' && r.url().endsWith('/favourites'));
  await star.click();
  await eventually(async () => assert.equal(await star.getAttribute('aria-pressed'), 'true'));
  await saved; // a list read earlier may lack it
  await page.reload();
  await page.locator('button[aria-label^=Favourite][aria-pressed=true]').first().waitFor();
  for (const [style, shape] of [
    ['BibTeX', /^@/],
    ['RIS', /^TY {2}- /],
    ['CSL-JSON', /^\[/],
    ['APA', /\(\d{4}\)\./],
  ]) {
    await page
      .getByRole('button', { name: /^Copy citation/ })
      .first()
      .click();
    await page.getByRole('button', { name: style, exact: true }).locator('visible=true').click();
    await page.getByText(`${style}: Copied`).waitFor();
    await eventually(async () => assert.match(await page.evaluate(() => navigator.clipboard.readText()), shape));
  }
  const removed = page.waitForResponse((r) => r.request().method() === 'DELETE');
  await page.locator('button[aria-label^=Favourite][aria-pressed=true]').first().click();
  await removed; // the next test counts favourites
});

test('a result found by meaning is marked, and the mark is explained', async (open) => {
  const page = await open(demo);
  await page.route('**/search', async (r) => {
    if (r.request().method() !== 'POST') return r.continue();
    const response = await r.fetch();
    const reply = await response.json();
    reply.results[1].byMeaning = true;
    return r.fulfill({ response, json: reply });
  });
  await page.goto(`${demo.url}/search?q=computer+machine`);
  const mark = page.getByRole('button', { name: 'Found by meaning' });
  await mark.waitFor();
  await eventually(async () => assert.equal(await mark.count(), 1));
  await eventually(async () =>
    assert.equal(await page.locator('main li').nth(1).getByRole('button', { name: 'Found by meaning' }).count(), 1),
  );
  const tip = page.getByRole('tooltip').filter({ hasText: 'none of your words' });
  await eventually(async () => assert.equal(await tip.isVisible(), false));
  await mark.hover();
  await tip.waitFor();
  await page.mouse.move(0, 0);
  await tip.waitFor({ state: 'hidden' });
  await mark.focus();
  await tip.waitFor();
  await page.keyboard.press('Escape');
  await tip.waitFor({ state: 'hidden' });
});

test('a star clicked just before leaving the page is saved', async (open) => {
  const page = await open(demo);
  // The browser decides whether a request outlives its page; this checks that keepalive is set.
  await page.addInitScript(() => {
    const real = window.fetch;
    window.fetch = (request, init) => {
      if (request.method === 'POST' && request.url.endsWith('/favourites'))
        sessionStorage.setItem('keepalive', String(request.keepalive));
      return real(request, init);
    };
  });
  await page.goto(`${demo.url}/search?q=turing+machine`);
  await page.waitForLoadState('networkidle');
  const star = await unsetStar(page);
  const agent = await agentOf(page);
  const favourites = async () => (await api(page, 'GET', `/api/agents/${agent.id}/favourites`)).favourites;
  const before = (await favourites()).length;
  // In one task, so that no reply arrives in between.
  await Promise.all([
    page.waitForEvent('load'),
    star.evaluate((s) => {
      s.click();
      location.reload();
    }),
  ]);
  await eventually(async () => assert.equal(await page.evaluate(() => sessionStorage.getItem('keepalive')), 'true'));
  for (let n = before; n === before;) n = (await favourites()).length;
  const [newest] = await favourites();
  await api(page, 'DELETE', `/api/agents/${agent.id}/favourites/${newest.cardId}`);
});

test('the year range works by touch', async (open) => {
  const page = await open(demo, '/search?q=computer+machine', { width: 390, height: 844, touch: true });
  await page.getByRole('button', { name: 'Filters' }).tap();
  const from = page.getByRole('slider', { name: 'From year' });
  const first = await from.inputValue();
  const box = await placeOf(from);
  const devtools = await page.context().newCDPSession(page);
  const y = box.y + box.height / 2;
  const touch = (type, x) =>
    devtools.send('Input.dispatchTouchEvent', { type, touchPoints: type === 'touchEnd' ? [] : [{ x, y }] });
  await touch('touchStart', box.x + 11);
  for (const part of [0.1, 0.25, 0.4]) await touch('touchMove', box.x + box.width * part);
  await touch('touchEnd');
  await page.waitForURL('**from=*');
  await eventually(async () => assert.ok(Number(await from.inputValue()) > Number(first)));
  await page.getByRole('button', { name: /^Remove filter/ }).tap();
  await page.waitForURL((u) => !u.searchParams.has('from'));
});

test('usage has charts by day and agent, with tables for screen readers', async (open) => {
  const page = await open(demo);
  const usage = (name, calls, spentMicros) => ({ name, calls, spentMicros, inputTokens: 0, outputTokens: 0 });
  await page.route('**/api/account/usage?*', async (r) => {
    const real = await (await r.fetch()).json();
    const byDay = r.request().url().includes('by=day');
    await r.fulfill({
      json: {
        ...real,
        usage: byDay
          ? [usage('2026-11-01', 3, 120_000), usage('2026-11-04', 1, 40_000)]
          : [usage('agt_gone', 1, 40_000), usage('agt_other', 3, 120_000)],
      },
    });
  });
  await page.goto(`${demo.url}/settings/usage`);
  const days = page.getByRole('table', { name: 'Spend by day' });
  await days.waitFor({ state: 'attached' });
  await eventually(async () =>
    assert.deepEqual(
      await days.locator('tbody tr').evaluateAll((all) => all.map((r) => r.lastElementChild.textContent)),
      ['3', '0', '0', '1'],
      'days without usage are included',
    ),
  );
  await eventually(async () => assert.equal(await page.locator('figure svg rect').count(), 4));
  const agents = page.getByRole('table', { name: 'By agent' });
  await eventually(async () =>
    assert.deepEqual(await agents.locator('tbody th').allTextContents(), ['agt_other', 'agt_gone'], 'sorted by spend'),
  );
  await eventually(async () =>
    assert.deepEqual(
      await agents.locator('rect').evaluateAll((all) => all.map((r) => Math.round(r.width.baseVal.value))),
      [100, 33],
    ),
  );
});

test('signing in returns to the requested page', async (open) => {
  const page = await open(demo, '', { storageState: undefined });
  await page.goto(`${demo.url}/search?q=turing`);
  await page.waitForURL('**/sign-in?return=*');
  await page.fill('#email', 'demo@example.org');
  await page.fill('#password', demo.password);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/search?q=turing');
  await page.locator('li h2').first().waitFor();
});
