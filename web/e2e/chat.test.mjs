import assert from 'node:assert/strict';
import {
  agentOf,
  api,
  ask,
  control,
  demo,
  eventually,
  longThread,
  member,
  release,
  removeAgent,
  slow,
  test,
} from './harness.mjs';

const field = (page) => page.getByRole('textbox', { name: 'Message' });
const busy = (page) => page.locator('[aria-busy=true]');

/** A promise that is fulfilled by its method resolve. */
function signal() {
  let resolve;
  const promise = new Promise((done) => (resolve = done));
  return Object.assign(promise, { resolve });
}

test('an answer cites its sources and [n] opens the document at the quote', async (open) => {
  const page = await open(demo, '/');
  await page.waitForURL('**/chat');
  const answer = await ask(page, 'Who proposed the relational model?');
  const mark = answer.getByRole('button', { name: 'Open source 1' }).first();
  await mark.click();
  const panel = page.getByRole('complementary', { name: 'Source 1' });
  const quote = await panel.locator('blockquote').textContent();
  await eventually(async () => assert.equal(await panel.locator('mark').textContent(), quote));
  await eventually(async () =>
    assert.ok(
      await panel.locator('mark').evaluate((m) => {
        const r = m.getBoundingClientRect();
        return r.top >= 0 && r.top < innerHeight;
      }),
      'the quote is visible',
    ),
  );
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
  await eventually(async () =>
    assert.ok(await mark.evaluate((m) => m === document.activeElement), 'the focus returns to the citation'),
  );
});

test('[n] opens a bottom sheet on phones', async (open) => {
  const page = await open(demo, '/chat', { width: 390, height: 844, touch: true });
  const answer = await ask(page, 'Who proposed the relational model?');
  await answer.getByRole('button', { name: 'Open source 1' }).first().tap();
  await eventually(async () => {
    const box = await page.getByRole('complementary', { name: 'Source 1' }).boundingBox();
    assert.equal(Math.round(box.width), 390);
    assert.ok(
      box.y > 150 && Math.round(box.y + box.height) === 844,
      `the sheet is at the bottom: ${JSON.stringify(box)}`,
    );
  });
});

test('Enter sends, Shift+Enter adds a line, and IME composition is not interrupted', async (open) => {
  const page = await open(slow, '/chat');
  await field(page).fill('one');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('two');
  await eventually(async () => assert.equal(await field(page).inputValue(), 'one\ntwo'));
  await field(page).dispatchEvent('keydown', { key: 'Enter', isComposing: true, keyCode: 229 });
  await eventually(async () => assert.equal(await field(page).inputValue(), 'one\ntwo', 'composing does not send'));
  await page.keyboard.press('Enter');
  await page.getByText('You wrote: one').waitFor();
  await eventually(async () => assert.equal(await field(page).inputValue(), ''));
});

test('Stop and Esc end the turn', async (open) => {
  const page = await open(slow, '/chat');
  for (const stop of [() => page.getByRole('button', { name: 'Stop' }).click(), () => page.keyboard.press('Escape')]) {
    await field(page).fill('slow 10m');
    await page.keyboard.press('Enter');
    await busy(page).waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await stop();
    await busy(page).waitFor({ state: 'detached' });
  }
  await eventually(async () => assert.equal(await page.getByText('Stopped.').count(), 2));
});

test('a stopped answer keeps what was written', async (open) => {
  const page = await open(slow, '/chat');
  await field(page).fill('stream The first section.; slow 10m');
  await page.keyboard.press('Enter');
  await page.getByText('Waiting…').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await busy(page).waitFor({ state: 'detached' });
  const answer = page.getByRole('article', { name: 'Agent' });
  await answer.getByText('The first section.').waitFor();
  await answer.getByText('Stopped.').waitFor();
});

test('messages entered during an answer are sent one after another when it is complete', async (open) => {
  const page = await open(slow, '/chat');
  const waiting = page.getByRole('region', { name: 'Sent when the answer is complete' });
  const enter = async (text) => {
    await field(page).fill(text);
    await field(page).press('Enter');
  };
  await enter('until first; stream the first answer');
  await page.waitForURL('**/chat/thr_*');
  await busy(page).waitFor();
  await enter('stream the second answer');
  await enter('stream an unwanted answer');
  await enter('stream the third answr');
  await eventually(async () => assert.equal(await waiting.getByRole('listitem').count(), 3));
  assert.equal(await field(page).inputValue(), '');
  await waiting.getByRole('button', { name: 'Remove: stream an unwanted answer' }).click();
  await waiting.getByRole('button', { name: 'Edit: stream the third answr' }).click();
  await eventually(async () => assert.equal(await field(page).inputValue(), 'stream the third answr'));
  await enter('stream the third answer');
  await eventually(async () => assert.equal(await waiting.getByRole('listitem').count(), 2));
  await field(page).fill('still being typed');
  await release('first');
  await page.getByText('the third answer', { exact: true }).waitFor();
  await waiting.waitFor({ state: 'detached' });
  const questions = page.getByRole('article', { name: 'You' });
  await eventually(async () => assert.equal(await questions.count(), 3));
  assert.match(await questions.nth(1).textContent(), /stream the second answer/);
  assert.match(await questions.nth(2).textContent(), /stream the third answer/);
  assert.equal(await field(page).inputValue(), 'still being typed');
});

test('a list of messages from before the last message does not replace it', async (open) => {
  const page = await open(slow, '/chat');
  const enter = async (text) => {
    await field(page).fill(text);
    await field(page).press('Enter');
  };
  const outdated = signal();
  const newer = signal();
  const delivered = signal();
  let lists = 0;
  await page.route(/\/messages\?limit=50$/, async (route) => {
    lists++;
    if (lists === 1) {
      // The page asks for the list when it begins to follow an answer. The reply of the first time is of the time after
      // the first answer, and arrives when the page has the list with the second message.
      const path = new URL(route.request().url()).pathname;
      await eventually(async () => assert.equal((await api(page, 'GET', `${path}?limit=1`)).status, 'complete'));
      const response = await route.fetch();
      outdated.resolve();
      await newer;
      await route.fulfill({ response });
      delivered.resolve();
    } else {
      await outdated; // after the second list, which has the first answer, the second message is sent
      await route.fulfill({ response: await route.fetch() });
      if (lists > 2) newer.resolve();
    }
  });
  await enter('until old; stream the first answer');
  await page.waitForURL('**/chat/thr_*');
  await busy(page).waitFor();
  await enter('until new; stream the second answer');
  await page.getByRole('region', { name: 'Sent when the answer is complete' }).getByRole('listitem').waitFor();
  await release('old');
  await delivered;
  await release('new');
  await page.getByText('the second answer', { exact: true }).waitFor();
});

test('follow-ups are back in the field after a reload, and when the answer is stopped', async (open) => {
  const page = await open(slow, '/chat');
  await field(page).fill('until never; stream nothing');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/chat/thr_*');
  await page.getByText('Waiting…').waitFor(); // the server has the message
  await field(page).fill('A follow-up');
  await page.getByRole('button', { name: 'Send when the answer is complete' }).click();
  await page.getByRole('button', { name: 'Remove: A follow-up' }).waitFor();
  await field(page).fill('and a draft');
  await page.reload();
  await busy(page).waitFor();
  await eventually(async () => assert.equal(await field(page).inputValue(), 'A follow-up\n\nand a draft'));
  await field(page).press('Enter');
  await page.getByRole('button', { name: /^Remove: A follow-up/ }).waitFor();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await busy(page).waitFor({ state: 'detached' });
  await eventually(async () => assert.equal(await field(page).inputValue(), 'A follow-up\n\nand a draft'));
  await field(page).fill('');
});

test('a turn resumes after a reload or a lost connection', async (open) => {
  const page = await open(slow, '/chat', { expectErrors: true });
  await field(page).fill('until reloaded; stream after the reload');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/chat/thr_*');
  await page.getByText('Waiting…').waitFor(); // the server has the message
  await page.reload();
  await busy(page).waitFor();
  await release('reloaded');
  await page.getByText('after the reload', { exact: true }).waitFor();
  await field(page).fill('until gap; stream after the gap');
  await page.keyboard.press('Enter');
  await page.getByText('Waiting…').waitFor();
  await page.context().setOffline(true);
  await page.getByText('You’re offline').waitFor();
  await page.context().setOffline(false);
  await release('gap');
  await page.getByText('after the gap', { exact: true }).waitFor();
  await eventually(async () => assert.equal(await page.getByText('after the gap', { exact: true }).count(), 1));
});

test('an answer completes after the server is killed and restarted', async (open) => {
  const page = await open(slow, '/chat', { expectErrors: true });
  await field(page).fill('stream before the crash; until restarted; stream and after it');
  await page.keyboard.press('Enter');
  await page.getByText('before the crash').last().waitFor();
  await page.getByText('Waiting…').waitFor();
  await control('kill');
  try {
    await page.getByText('Connection lost.').waitFor();
    await eventually(async () => assert.equal(await busy(page).count(), 1, 'the answer is still running'));
  } finally {
    await control('start');
  }
  await page.getByText('Connection lost.').waitFor({ state: 'detached' });
  await release('restarted');
  await busy(page).waitFor({ state: 'detached' });
  const answer = page.getByRole('article', { name: 'Agent' });
  await eventually(async () => assert.equal(await answer.count(), 1));
  await eventually(async () => assert.match(await answer.textContent(), /before the crash\s?and after it/));
  await page.reload();
  await answer.waitFor();
  await eventually(async () => assert.match(await answer.textContent(), /before the crash\s?and after it/));
});

test('an answer continues after the computer was asleep', async (open) => {
  const page = await open(slow, '/chat', { expectErrors: true });
  await field(page).fill('until nap; stream after the nap');
  await page.keyboard.press('Enter');
  await page.getByText('Waiting…').waitFor();
  // Freeze the page as closing a laptop does: no timers, no reads, and the network is lost.
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Page.setWebLifecycleState', { state: 'frozen' });
  await page.context().setOffline(true);
  const other = await open(slow, '/chat');
  const agent = await agentOf(other);
  const thread = new URL(page.url()).pathname.split('/')[2];
  await release('nap');
  for (let status = 'working'; status === 'working';)
    status = (await api(other, 'GET', `/api/agents/${agent.id}/threads/${thread}/messages`)).status;
  await page.context().setOffline(false);
  await devtools.send('Page.setWebLifecycleState', { state: 'active' });
  await page.getByText('after the nap', { exact: true }).waitFor();
  await busy(page).waitFor({ state: 'detached' });
  await eventually(async () => assert.equal(await page.getByText('after the nap', { exact: true }).count(), 1));
});

test('steps are live, then collapsed to a summary', async (open) => {
  const page = await open(slow, '/chat');
  await field(page).fill('steps 3; until seen; stream words');
  await page.keyboard.press('Enter');
  await page.locator('[aria-busy=true] li', { hasText: 'Thought 3' }).waitFor();
  await release('seen');
  await busy(page).waitFor({ state: 'detached' });
  const steps = page.locator('article[aria-label=Agent] details').first();
  await eventually(async () => assert.equal(await steps.evaluate((d) => d.open), false));
  await eventually(async () =>
    assert.match(await page.locator('article[aria-label=Agent] summary').first().textContent(), /^[456] steps$/),
  );
  // Another tab has not followed the turn.
  const later = await open(slow, page.url().slice(slow.url.length));
  await later.locator('article[aria-label=Agent] summary').first().click();
  await later.locator('details li', { hasText: 'Thought 3' }).waitFor();
  const other = await open(demo, '/chat');
  const answer = await ask(other, 'Who proposed the relational model?');
  await eventually(async () =>
    assert.match(await answer.locator('summary').first().textContent(), /^\d+ steps · \d+ sources?$/),
  );
});

/** Ends the turn of a page with a scripted stream, so that it does not count against the limit of running turns. */
async function stopTurn(page) {
  const stopped = page.waitForResponse((r) => r.request().method() === 'POST' && r.url().endsWith('/cancel'));
  await page.getByRole('button', { name: 'Stop' }).click();
  assert.equal((await stopped).status(), 200);
}

/** Serves a scripted event stream for a turn. */
const scriptStream = (page) =>
  page.addInitScript(() => {
    const real = window.fetch;
    let n = 0;
    window.fetch = (input, init) => {
      if (!String(input).includes('/events')) return real(input, init);
      return Promise.resolve(
        new Response(
          new ReadableStream({
            start(c) {
              window.push = (text) =>
                c.enqueue(
                  new TextEncoder().encode(`id: 1.${++n}\nevent: delta\ndata: ${JSON.stringify({ text })}\n\n`),
                );
            },
          }),
        ),
      );
    };
  });

test('only the last block is rendered again while an answer grows', async (open) => {
  const page = await open(slow);
  await scriptStream(page);
  await page.goto(`${slow.url}/chat`);
  await field(page).fill('slow 10m');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => window.push);
  await page.evaluate(() => window.push('First block.\n\nSecond'));
  await page.getByText('Second').waitFor();
  await page.evaluate(() => {
    document.querySelector('[aria-busy] .prose p').kept = true;
    window.push(' block grows.');
  });
  await page.getByText('Second block grows.').waitFor();
  assert.ok(
    await page.evaluate(() => document.querySelector('[aria-busy] .prose p').kept),
    'the first block is the same element',
  );
  await stopTurn(page);
});

test('the view follows the answer only if it is scrolled to the end', async (open) => {
  const page = await open(slow);
  await scriptStream(page);
  await page.goto(`${slow.url}/chat`);
  await field(page).fill('slow 10m');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => window.push);
  const scroller = page.getByRole('region', { name: 'Chat' });
  const gap = () => scroller.evaluate((s) => s.scrollHeight - s.scrollTop - s.clientHeight);
  await page.evaluate(() => window.push('Line.\n\n'.repeat(60)));
  await page.waitForFunction(() => document.querySelectorAll('[aria-busy] .prose p').length === 60);
  await page.waitForFunction(() => {
    const s = document.querySelector('[aria-label=Chat]');
    return s.scrollHeight - s.scrollTop - s.clientHeight < 5;
  });
  await scroller.evaluate((s) => {
    s.scrollTop = 100;
  });
  await page.getByRole('button', { name: 'Jump to latest' }).waitFor();
  await page.evaluate(() => window.push('More.\n\n'.repeat(20)));
  await page.waitForFunction(() => document.querySelectorAll('[aria-busy] .prose p').length === 80);
  // The browser keeps the visible lines in place, also if the buttons of the question appear above them.
  await eventually(async () => assert.ok((await scroller.evaluate((s) => s.scrollTop)) < 200));
  assert.ok((await gap()) > 1000);
  await page.getByRole('button', { name: 'Jump to latest' }).click();
  await eventually(async () => assert.ok((await gap()) < 5));
  await stopTurn(page);
});

test('answers, code and citations can be copied', async (open) => {
  const page = await open(demo, '/chat');
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  const answer = await ask(page, 'Who proposed the relational model?');
  await answer.getByRole('button', { name: 'Copy answer' }).click();
  await eventually(async () =>
    assert.match(await clipboard(), /\[1\][\s\S]+\n\n\[1\] Edgar F\. Codd\. A Relational Model/),
  );
  await answer.getByRole('button', { name: 'Open source 1' }).first().click();
  await page.getByRole('button', { name: /^Copy citation/ }).click();
  await page.getByRole('button', { name: 'BibTeX' }).click();
  await eventually(async () => assert.match(await clipboard(), /^@article\{codd1970/));
  const other = await open(slow);
  await scriptStream(other);
  await other.goto(`${slow.url}/chat`);
  await field(other).fill('slow 10m');
  await other.keyboard.press('Enter');
  await other.waitForFunction(() => window.push);
  await other.evaluate(() => window.push('```python\nprint(1)\n```\n'));
  await other.locator('.copy-code').click();
  await eventually(async () =>
    assert.equal((await other.evaluate(() => navigator.clipboard.readText())).trim(), 'print(1)'),
  );
  await other.locator('.hljs-built_in').waitFor();
  await stopTurn(other);
});

test('HTML in an answer is not executed', async (open) => {
  const page = await open(slow);
  await scriptStream(page);
  await page.goto(`${slow.url}/chat`);
  await field(page).fill('slow 10m');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => window.push);
  await page.evaluate(() =>
    window.push(
      '<img src=x onerror="window.bad=1"><script>window.bad=1</script><a href="javascript:window.bad=1">link</a> ' +
        '<b onclick="window.bad=1">bold</b> $x^2$ and $$y_1$$ in a line [out](https://example.org)',
    ),
  );
  await page.locator('math').nth(1).waitFor();
  const live = await page
    .locator('[aria-busy] .prose')
    .evaluate((el) =>
      [...el.querySelectorAll('*')].flatMap((e) => [
        e.localName,
        ...e.getAttributeNames().filter((n) => n.startsWith('on')),
        e.protocol ?? '',
      ]),
    );
  for (const bad of ['img', 'script', 'onclick', 'onerror', 'javascript:']) assert.ok(!live.includes(bad), bad);
  await eventually(async () => assert.equal(await page.evaluate(() => window.bad), undefined));
  await eventually(async () =>
    assert.equal(await page.getByRole('link', { name: 'out' }).getAttribute('rel'), 'noreferrer'),
  );
  await stopTurn(page);
});

test('a failed send restores the draft, with the request id and Retry', async (open) => {
  const page = await open(slow, '/chat', { expectErrors: true });
  await ask(page, 'first');
  await page.route('**/messages', (r) =>
    r.request().method() === 'POST'
      ? r.fulfill({
          status: 503,
          contentType: 'application/problem+json',
          headers: { 'X-Request-Id': 'req_test' },
          body: JSON.stringify({
            code: 'unavailable',
            detail: 'The database is away.',
            status: 503,
            requestId: 'req_test',
          }),
        })
      : r.continue(),
  );
  await field(page).fill('not lost');
  await page.keyboard.press('Enter');
  await page.getByText('Request req_test').waitFor();
  await eventually(async () => assert.equal(await field(page).inputValue(), 'not lost'));
  await page.unroute('**/messages');
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.getByText('You wrote: not lost').waitFor();
});

test('a draft is kept per chat, across reloads', async (open) => {
  const page = await open(slow, '/chat');
  await ask(page, 'a thread');
  await field(page).fill('for the thread');
  await page.getByRole('link', { name: 'New chat' }).click();
  await page.waitForFunction(() => document.querySelector('[data-main-field]').value === '');
  await field(page).fill('for a new chat');
  await page.goBack();
  await page.waitForFunction(() => document.querySelector('[data-main-field]').value === 'for the thread');
  await page.reload();
  await page.waitForFunction(() => document.querySelector('[data-main-field]')?.value === 'for the thread');
  await page.goForward();
  await page.waitForFunction(() => document.querySelector('[data-main-field]').value === 'for a new chat');
  await field(page).fill('');
});

test('a chat can be exported to Markdown, renamed and deleted', async (open) => {
  const page = await open(demo, '/chat');
  await ask(page, 'What is a Turing test?');
  const menu = page.getByRole('button', { name: /Chat options: What is a Turing/ }).first();
  await menu.click();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Export as Markdown' }).click(),
  ]);
  assert.match(file.suggestedFilename(), /\.md$/);
  await menu.click();
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByLabel('Title').fill('Machines that think');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Machines that think' }).waitFor();
  await page.getByRole('button', { name: /Chat options: Machines that think/ }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('link', { name: 'Machines that think' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('link', { name: 'Machines that think' }).waitFor();
});

test('feedback is saved', async (open) => {
  const page = await open(demo, '/chat');
  const answer = await ask(page, 'What is a Turing test?');
  await answer.getByRole('button', { name: 'Bad answer' }).click();
  await page.getByLabel('Details (optional)').fill('Too short.');
  await page.getByRole('button', { name: 'Send feedback' }).click();
  await page.getByText('Thanks for your feedback').waitFor();
  await page.reload();
  await page.locator('button[aria-label="Bad answer"][aria-pressed=true]').waitFor();
});

test('a message above the limit shows its place in the queue', async (open) => {
  const page = await open({ ...slow, email: 'eve@example.org', password: member.password }, '/chat');
  const { agent } = await api(page, 'POST', '/api/agents', { name: 'Queue' });
  const send = async (text) => {
    const { thread } = await api(page, 'POST', `/api/agents/${agent.id}/threads`, {});
    const path = `/api/agents/${agent.id}/threads/${thread.id}/messages`;
    await page.evaluate(
      ([p, body]) =>
        fetch(p, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', Prefer: 'respond-async' },
          body,
        }),
      [path, JSON.stringify({ text })],
    );
  };
  for (let i = 0; i < 5; i++) await send('until queued');
  await page.reload();
  await field(page).fill('stream at last');
  await page.keyboard.press('Enter');
  await page.getByText('Waiting: 1 turn ahead').waitFor();
  await page.reload();
  await page.getByText('Waiting: 1 turn ahead').waitFor();
  await release('queued');
  await page.getByText('at last', { exact: true }).waitFor();
  await eventually(async () => assert.equal(await page.getByText('Waiting:').count(), 0));
  await removeAgent(page, agent.id);
});

test('running and unread chats have a dot', async (open) => {
  const page = await open(slow, '/chat');
  await field(page).fill('until dotted; stream later');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/chat/thr_*');
  const thread = new URL(page.url()).pathname.split('/')[2];
  await page.getByRole('link', { name: 'New chat' }).click();
  const row = page.locator(`a[href*="${thread}"]`).first();
  await row.getByRole('img', { name: 'Answering' }).waitFor();
  await release('dotted');
  await row.getByRole('img', { name: 'New answer' }).waitFor();
  await row.click();
  await page.getByText('later', { exact: true }).waitFor();
  await row.getByRole('img', { name: 'New answer' }).waitFor({ state: 'detached' });
});

test('an answer shows its checks, memories and spend', async (open) => {
  const page = await open(slow, '/chat');
  const answer = await ask(page, 'cite');
  await answer.locator('summary', { hasText: '1 not supported' }).click();
  await answer.getByText('The number 1971 does not occur in what is cited.').waitFor();
  await answer.getByText('1 memory used').waitFor();
  await answer.getByText(/120 tokens/).waitFor();
  await answer.getByText('This answer is incomplete.').waitFor();
  await answer.getByRole('button', { name: 'When?' }).waitFor();
});

test('a link to a chat works without its agent', async (open) => {
  const page = await open(slow, '/chat', { expectErrors: true });
  const first = await agentOf(page);
  const other = (await api(page, 'POST', '/api/agents', { name: 'Another' })).agent;
  const { thread } = await api(page, 'POST', `/api/agents/${other.id}/threads`, { title: 'Far away' });
  await page.goto(`${slow.url}/chat/${thread.id}?agent=${first.id}`);
  await page.waitForURL((u) => u.searchParams.get('agent') === other.id);
  await removeAgent(page, other.id);
});

test('a chat of 500 messages can be scrolled to its start', async (open) => {
  const page = await open(slow, '/chat');
  const { path, firstAnswer } = await longThread(page, 250);
  await page.goto(slow.url + path);
  const scroller = page.getByRole('region', { name: 'Chat' });
  const shown = () => page.getByRole('article').count();
  await page.getByRole('article').first().waitFor();
  await eventually(async () => assert.ok((await shown()) < 200, 'only the latest messages are loaded'));
  for (let n = await shown(); n < 500; n = await shown()) {
    await scroller.evaluate((s) => {
      s.scrollTop = 0;
    });
    await page.waitForFunction((before) => document.querySelectorAll('article').length > before, n);
  }
  await eventually(async () => assert.equal(await shown(), 500));
  await scroller.evaluate((s) => {
    s.scrollTop = 0;
  });
  await page.getByText(firstAnswer).first().waitFor();
  const edge = (locator) => locator.evaluate((a) => a.getBoundingClientRect());
  await eventually(async () =>
    assert.ok((await edge(page.getByRole('article').first())).bottom > 0, 'the first message is visible'),
  );
  await page.getByRole('button', { name: 'Jump to latest' }).click();
  await eventually(async () =>
    assert.ok((await edge(page.getByRole('article').last())).top < 800, 'the last message is visible'),
  );
});
