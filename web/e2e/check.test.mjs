import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { agentOf, api, ask, demo, eventually, removeAgent, slow, test } from './harness.mjs';
import { checkPage, variants } from './check-page.mjs';

const tip = (page) => page.locator('.tip');
const contradicted = /^Contradicted: The source says 1970, the sentence 1971\.$/;

test('a contradicted sentence is marked and explains itself', async (open) => {
  const page = await open(slow, '/chat');
  const answer = await ask(page, 'judge');
  const words = (verdict) =>
    answer.locator(`.sentence[data-verdict=${verdict}]`).evaluateAll((all) => {
      const copies = all.map((s) => s.cloneNode(true));
      for (const c of copies) c.querySelector('.flag')?.remove();
      return copies
        .map((c) => c.textContent)
        .join('')
        .replace(' .', '.');
    });
  await eventually(async () => assert.equal(await words('contradicted'), 'He proposed it in 1971.'));
  await eventually(async () => assert.equal(await words('unsupported'), 'It made databases 𝒏 times faster.'));
  await eventually(async () => assert.equal(await words('uncited'), 'Many companies use it today.'));
  await eventually(async () => assert.equal(await words('supported'), '', 'only problems are marked'));
  const lines = () =>
    answer
      .locator('.sentence')
      .evaluateAll((all) => new Set(all.map((s) => getComputedStyle(s).textDecorationStyle)).size);
  await eventually(async () => assert.equal(await lines(), 3, 'each verdict has its own line style'));

  const flag = answer.getByRole('button', { name: contradicted });
  await answer.locator('.sentence[data-verdict=contradicted]').first().hover();
  await tip(page).getByText('The source says 1970, the sentence 1971.').waitFor();
  await tip(page).getByText('Judged by rules').waitFor();
  await page.mouse.move(0, 0);
  await tip(page).waitFor({ state: 'detached' });
  await flag.focus();
  await tip(page).getByText('Contradicted').waitFor();
  await page.keyboard.press('Escape');
  await tip(page).waitFor({ state: 'detached' });

  const phone = await open(slow, new URL(page.url()).pathname, { width: 390, height: 844, touch: true });
  await phone.getByRole('button', { name: contradicted }).tap();
  await eventually(async () => {
    const box = await tip(phone).boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
  });
});

test('the verdicts of an answer are summarized, listed and can be hidden', async (open) => {
  const page = await open(slow, '/chat');
  const answer = await ask(page, 'judge');
  const summary = answer.locator('summary', { hasText: 'contradicted' });
  await eventually(async () =>
    assert.equal(
      (await summary.innerText())
        .replace(/[^\w\s]/g, '')
        .replace(/\s+/g, ' ')
        .trim(),
      '1 quoted 1 supported 1 from a memory 1 not judged 1 without citation 1 not supported 1 contradicted',
    ),
  );
  await summary.click();
  const items = answer.locator('details li').filter({ has: page.locator('.flag') });
  await eventually(async () => assert.equal(await items.count(), 7));
  await eventually(async () =>
    assert.match(
      await items.nth(2).innerText(),
      /He proposed it in 1971\.\s+1\s+Contradicted\. The source says 1970, the sentence 1971\. Judged by rules\./,
    ),
  );
  await eventually(async () => assert.match(await items.nth(5).innerText(), /Not judged\. Its citations exist/));
  await answer.getByLabel('Marks in the text').selectOption('All sentences');
  await eventually(async () => assert.equal(await answer.locator('.prose button.flag').count(), 7));
  await answer.getByLabel('Marks in the text').selectOption('None');
  await eventually(async () => assert.equal(await answer.locator('.prose .flag, .prose .sentence').count(), 0));
  await page.reload();
  await answer.locator('summary', { hasText: 'contradicted' }).waitFor();
  await eventually(async () => assert.equal(await answer.locator('.prose .flag').count(), 0, 'the choice is kept'));
});

test('an answer of an earlier version shows its checks', async (open) => {
  const page = await open(slow, '/chat');
  await ask(page, 'judge');
  await page.route('**/messages?*', async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    for (const m of body.messages) {
      delete m.sentences;
      for (const c of m.checks ?? []) for (const added of ['verdict', 'by', 'reasonCode']) delete c[added];
    }
    await route.fulfill({ response, json: body });
  });
  await page.reload();
  const answer = page.getByRole('article', { name: 'Agent' });
  await answer.getByRole('button', { name: 'Not supported: The source says 1970, the sentence 1971.' }).waitFor();
  await answer.locator('summary', { hasText: '2 supported' }).waitFor();
});

test('actions of a reply can be undone', async (open) => {
  const page = await open(slow, '/chat', { expectErrors: true });
  const { id } = await agentOf(page);
  const at = `/api/agents/${id}`;
  const memories = async () => (await api(page, 'GET', `${at}/memories`)).memories.map((m) => m.text);
  const favourites = async () => (await api(page, 'GET', `${at}/favourites`)).favourites.map((f) => f.cardId);
  const act = (action) => ask(page, `act ${JSON.stringify({ state: 'done', ...action })}`);

  const { memory } = await api(page, 'POST', `${at}/memories`, { text: 'I read Latin.' });
  let answer = await act({ kind: 'remember', id: memory.id, text: memory.text, undo: 'deleteMemory' });
  await answer.getByText('Remembered: I read Latin.').waitFor();
  await answer.getByRole('button', { name: 'Undo: I read Latin.' }).click();
  await answer.getByText('Undone. Not remembered: I read Latin.').waitFor();
  await eventually(async () => assert.ok(!(await memories()).includes('I read Latin.')));

  answer = await act({ kind: 'forget', id: memory.id, text: memory.text, undo: 'addMemory' });
  await page.route('**/memories', (r) =>
    r.fulfill({
      status: 403,
      contentType: 'application/problem+json',
      body: JSON.stringify({ code: 'forbidden', detail: 'You may not add memories.', status: 403 }),
    }),
  );
  await answer.getByRole('button', { name: /^Undo/ }).click();
  await page.getByText('You may not add memories.').waitFor();
  await answer.getByText('Forgotten: I read Latin.').waitFor();
  await page.unroute('**/memories');
  await answer.getByRole('button', { name: /^Undo/ }).click();
  await answer.getByText('Undone. Remembered again: I read Latin.').waitFor();
  await eventually(async () => assert.ok((await memories()).includes('I read Latin.')));

  const card = { cardId: 'card_undo', title: 'A removed work' };
  answer = await act({ kind: 'remove_favourite', id: card.cardId, title: card.title, undo: 'saveFavourite', card });
  await answer.getByRole('button', { name: /^Undo/ }).click();
  await answer.getByText('Undone. In favourites again: A removed work').waitFor();
  await eventually(async () => assert.ok((await favourites()).includes('card_undo')));
  answer = await act({ kind: 'save_favourite', id: card.cardId, title: card.title, undo: 'deleteFavourite' });
  await answer.getByRole('button', { name: /^Undo/ }).click();
  await answer.getByText('Undone. Not in favourites: A removed work').waitFor();
  await eventually(async () => assert.ok(!(await favourites()).includes('card_undo')));

  await page.reload();
  await page.getByText('Undone. Not in favourites: A removed work').waitFor();
  await eventually(async () => assert.equal(await page.getByRole('button', { name: /^Undo/ }).count(), 0));
});

test('settings of an agent are saved and shown in an empty chat', async (open) => {
  const page = await open(slow, '/agents/new');
  await page.getByLabel('Name').fill('Settings');
  await page.getByRole('button', { name: 'Create agent' }).click();
  await page.waitForURL('**/agents/agt_*');
  const id = new URL(page.url()).pathname.split('/')[2];
  await page.getByRole('radio', { name: /^Remove/ }).check();
  await page.getByLabel('Answer length').selectOption('Short');
  await page.getByLabel('Language of answers').selectOption('German');
  await page.getByLabel('Opening message').fill('Ask me about computing.\nI know 60 works.');
  for (const q of ['First?', 'Second?', 'Third?']) {
    await page.getByRole('button', { name: 'Add question' }).click();
    await page.keyboard.type(q);
  }
  await page.getByRole('button', { name: 'Move question 3 up' }).click();
  await page.getByRole('button', { name: 'Remove question 1' }).click();
  await Promise.all([
    page.waitForResponse((r) => r.request().method() === 'PATCH' && r.ok()),
    page.getByRole('button', { name: 'Save' }).click(),
  ]);
  const { agent } = await api(page, 'GET', `/api/agents/${id}`);
  assert.deepEqual(
    [agent.policy, agent.answerLength, agent.language, agent.opening, agent.examples],
    ['strict', 'short', 'de', 'Ask me about computing.\nI know 60 works.', ['Third?', 'Second?']],
  );
  await page.reload();
  await eventually(async () => assert.ok(await page.getByRole('radio', { name: /^Remove/ }).isChecked()));
  await eventually(async () =>
    assert.equal(await page.getByRole('textbox', { name: 'Question 2' }).inputValue(), 'Second?'),
  );

  await page.goto(`${slow.url}/chat?agent=${id}`);
  await page.getByText('I know 60 works.').waitFor();
  await page.getByRole('list', { name: 'Example questions' }).getByRole('button', { name: 'Third?' }).click();
  await page.getByText('You wrote: Third?').waitFor();
  await removeAgent(page, id);
});

test('an empty chat shows questions suggested from the documents', async (open) => {
  const page = await open(demo, '/chat');
  const { id } = await agentOf(page);
  const { agent } = await api(page, 'GET', `/api/agents/${id}`);
  assert.ok(agent.suggestedExamples.length > 0);
  const list = page.getByRole('list', { name: 'Example questions' });
  await list.waitFor();
  await eventually(async () =>
    assert.deepEqual(await list.getByRole('button').allInnerTexts(), agent.suggestedExamples),
  );
  await page.goto(`${demo.url}/agents/${id}`);
  await page.getByRole('button', { name: 'Edit these' }).click();
  await eventually(async () =>
    assert.equal(await page.getByRole('textbox', { name: 'Question 1' }).inputValue(), agent.suggestedExamples[0]),
  );
  await page.goto(`${demo.url}/chat`);
  await list.getByRole('button').first().click();
  await page
    .getByRole('article', { name: 'Agent' })
    .getByRole('button', { name: /^Open source/ })
    .first()
    .waitFor();
});

const draft = `# The relational model

Edgar Codd of IBM's research laboratory in San Jose proposes that users should see a database as a collection of \
relations, that is, of tables of values, and nothing else. The paper appeared in June 1985.

Coffee cures cancer in most patients. What do you think?
`;

/** Opens the check page and checks the draft. */
async function check(page, text = draft) {
  await page.getByRole('textbox', { name: 'Your text' }).fill(text);
  await page.getByRole('button', { name: 'Check', exact: true }).click();
  await page.locator('.claim').first().waitFor();
}

test('a text is checked against the sources', async (open) => {
  const page = await open(demo, '/check');
  await check(page);
  const text = page.getByRole('region', { name: 'Checked text' });
  const shown = await text.evaluate((el) => {
    const copy = el.cloneNode(true);
    for (const extra of copy.querySelectorAll('.sr-only, .flag')) extra.remove();
    return copy.textContent;
  });
  assert.equal(shown.trim(), draft.trim(), 'the draft is shown as it is');
  const evidence = page.getByRole('complementary', { name: 'Evidence' });

  const quoted = text.getByRole('button', { name: /^Edgar Codd of IBM.*\(Quoted\)$/ });
  await quoted.click();
  await evidence.getByText('A document contains this sentence verbatim.').waitFor();
  await evidence.getByText('Supports').first().waitFor();
  await evidence.getByText('A Relational Model of Data for Large Shared Data Banks').first().waitFor();
  await evidence.getByText('1970').first().waitFor();
  await page.keyboard.press('ArrowDown');
  await text.locator('.claim[data-verdict=contradicted][aria-pressed=true]').waitFor();
  await evidence.getByText('Contradicts').first().waitFor();
  await evidence.getByText('Judged by rules').waitFor();
  await page.keyboard.press('End');
  await text.getByRole('button', { name: /^Coffee.*\(Not found\)$/, pressed: true }).waitFor();
  await page.keyboard.press('Home');
  await eventually(async () =>
    assert.ok(await quoted.evaluate((el) => el === document.activeElement), 'the focus follows'),
  );
  await eventually(async () =>
    assert.equal(await text.getByText('What do you think?').getAttribute('role'), null, 'a question is not judged'),
  );

  const quote = await evidence.locator('blockquote').first().textContent();
  const opens = evidence.getByRole('button', { name: /^Open document ?: A Relational Model/ }).first();
  await opens.click();
  const panel = page.getByRole('complementary', { name: /^A Relational Model/ });
  await eventually(async () => assert.equal(await panel.locator('mark').textContent(), quote));
  await panel.getByText('Edgar F. Codd').first().waitFor();
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
  await eventually(async () =>
    assert.ok(await opens.evaluate((b) => b === document.activeElement), 'the focus returns'),
  );
});

test('the verdicts of a checked text filter it, and it can be exported and edited', async (open) => {
  const page = await open(demo, '/check');
  await check(page);
  const filters = page.getByRole('list', { name: 'Filter by verdict' });
  await filters.getByRole('button', { name: /^Not found 1$/ }).click();
  await eventually(async () => assert.equal(await page.locator('.claim.sentence').count(), 1));
  await page.getByRole('button', { name: /^Coffee/, pressed: true }).waitFor();
  await page.getByRole('button', { name: 'Next sentence' }).click();
  await page.getByRole('button', { name: /^Coffee/, pressed: true }).waitFor();
  await filters.getByRole('button', { name: /^Not found/ }).click();
  await eventually(async () => assert.equal(await page.locator('.claim.sentence').count(), 3));

  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export as Markdown' }).click(),
  ]);
  assert.equal(file.suggestedFilename(), 'checked-text.md');
  const markdown = readFileSync(await file.path(), 'utf8');
  assert.match(markdown, /^# The relational model/);
  assert.match(markdown, /A Relational Model of Data for Large Shared Data Banks/);

  await page.getByRole('link', { name: 'Chat', exact: true }).click();
  await page.goBack();
  await page.locator('.claim').first().waitFor();
  await page.getByRole('button', { name: 'Edit text' }).click();
  const field = page.getByRole('textbox', { name: 'Your text' });
  await eventually(async () => assert.equal(await field.inputValue(), draft));
  await eventually(async () => assert.ok(await field.evaluate((f) => f === document.activeElement)));
  await page.reload();
  await eventually(async () => assert.equal(await field.inputValue(), draft, 'the draft survives a reload'));
  await field.fill(`${'a'.repeat(20_000)}𝒳`);
  await page.getByText('1 character too many').waitFor();
  await eventually(async () => assert.ok(await page.getByRole('button', { name: 'Check', exact: true }).isDisabled()));
  await field.fill('');
});

test('a check uses the chosen sources, shows progress and can be cancelled', async (open) => {
  const page = await open(demo, '/check', { expectErrors: true });
  const agent = await agentOf(page);
  const { source } = await api(page, 'POST', `/api/agents/${agent.id}/sources`, { name: 'Empty', kind: 'upload' });
  await page.reload();
  await page.getByText('Sources: All sources').click();
  await page.getByRole('checkbox', { name: /^Empty/ }).uncheck();
  await page.getByText('Sources: 1 of 2 sources').waitFor();
  let release;
  const held = new Promise((r) => {
    release = r;
  });
  const bodies = [];
  await page.route('**/check', async (r) => {
    bodies.push(r.request().postDataJSON());
    await held;
    await r.continue().catch(() => {});
  });
  const field = page.getByRole('textbox', { name: 'Your text' });
  await field.fill('Codd proposed the relational model.');
  await page.keyboard.press('Control+Enter');
  await page.getByText('Checking 35 characters… ').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Check', exact: true }).waitFor();
  release();
  assert.deepEqual(bodies, [
    { text: 'Codd proposed the relational model.', sourceIds: [agent.defaultSourceId], markdown: true },
  ]);
  await page.unroute('**/check');
  await page.route('**/check', (r) =>
    r.fulfill({
      status: 402,
      contentType: 'application/problem+json',
      body: JSON.stringify({
        code: 'spend_cap_reached',
        detail: 'The cap is reached.',
        status: 402,
        requestId: 'req_9',
      }),
    }),
  );
  await page.getByRole('button', { name: 'Check', exact: true }).click();
  await page.getByRole('alert').getByText('The cap is reached.').waitFor();
  await page.getByText('Request req_9').waitFor();
  await field.fill('');
  await api(page, 'DELETE', `/api/agents/${agent.id}/sources/${source.id}`);
});

test('a text is checked on a phone, in German', async (open) => {
  const page = await open(demo, '/chat', { width: 390, height: 844, touch: true, locale: 'de-DE' });
  await page.getByRole('link', { name: 'Eigenen Text prüfen' }).tap();
  await page.getByRole('textbox', { name: 'Ihr Text' }).fill(draft);
  await page.getByRole('button', { name: 'Prüfen', exact: true }).tap();
  await page.getByRole('button', { name: /^The paper appeared.*\(Widersprochen\)/, pressed: true }).waitFor();
  const evidence = page.getByRole('complementary', { name: 'Belege' });
  await evidence.getByText('Widerspricht').first().waitFor();
  await eventually(async () => {
    const box = await evidence.boundingBox();
    assert.ok(box.y > 300 && Math.round(box.width) === 390, `below the text: ${JSON.stringify(box)}`);
  });
  await evidence.getByRole('button', { name: 'Voriger Satz' }).tap();
  await evidence.getByText('Satz 1 von 3').waitFor();
  await evidence
    .getByRole('button', { name: /^Dokument öffnen/ })
    .first()
    .tap();
  await page.locator('aside mark').waitFor();
});

for (const [variant, options] of Object.entries(variants)) {
  test(`checked texts and marked answers are accessible and fit, ${variant}`, async (open) => {
    const page = await open(demo, '/check', { ...options, bypassCSP: true });
    await check(page);
    await checkPage(page, 'a checked text');
    await page.getByRole('list', { name: 'Filter by verdict' }).getByRole('button').first().click();
    await checkPage(page, 'a filtered text');
    await page.getByRole('complementary', { name: 'Evidence' }).getByRole('button', { name: /^Open/ }).first().click();
    await page.locator('aside mark').waitFor();
    await checkPage(page, 'a document of the evidence');
    const other = await open(slow, '/chat', { ...options, bypassCSP: true });
    const answer = await ask(other, 'judge');
    await answer.locator('summary', { hasText: 'contradicted' }).click();
    await answer.getByLabel('Marks in the text').selectOption('All sentences');
    await answer.locator('button.flag').first().focus();
    await checkPage(other, 'a marked answer');
    await ask(other, 'cite');
    await checkPage(other, 'actions');
  });
}
