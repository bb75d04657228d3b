import assert from 'node:assert/strict';
import { agentOf, api, demo, member, slow, test, eventually } from './harness.mjs';
import { checkPage, variants } from './check-page.mjs';

/** The member's account id, read as admin. */
const grace = async (page) => (await api(page, 'GET', '/api/admin/users?q=grace@example.org')).users[0];
const dialog = (page) => page.getByRole('dialog');

test('an admin finds a user by name, and the search is in the URL', async (open) => {
  const page = await open(demo, '/admin/users');
  await page.getByRole('link', { name: 'Grace Hopper' }).waitFor();
  await page.getByRole('searchbox', { name: 'Search by name or email' }).fill('hOPPER');
  await page.waitForURL('**/admin/users?q=hOPPER');
  await page.getByRole('link', { name: /demo/i }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Grace Hopper' }).click();
  await page.getByRole('heading', { name: 'Grace Hopper', level: 1 }).waitFor();
  await page.goto(`${demo.url}/admin/users?q=nobody+at+all`);
  await page.getByRole('heading', { name: 'No users found' }).waitFor();
});

test('an admin sets and removes a cap, a plan and a subscription', async (open) => {
  const page = await open(demo, '/admin/users');
  const user = await grace(page);
  await api(page, 'PUT', '/api/admin/plans/scholar', { capabilities: ['search', 'chat'], priceMicros: 9_000_000 });
  await page.goto(`${demo.url}/admin/users/${user.id}`);
  await page.getByLabel('Account cap').fill('2.5');
  const save = page.getByRole('button', { name: 'Save' });
  await save.first().click();
  await page.getByText('US$2.50 left of US$2.50').waitFor();
  await page.getByLabel('Default plan').selectOption('scholar');
  await save.nth(1).click();
  await page.getByRole('heading', { name: 'Plan: scholar' }).waitFor();
  await page.getByRole('button', { name: 'Add subscription' }).click();
  await dialog(page).getByLabel('Plan').selectOption('open');
  await dialog(page).getByLabel('Trial').check();
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await page.getByText('Trial until').waitFor();
  await page.getByRole('heading', { name: 'Plan: open' }).waitFor();
  await page.getByRole('button', { name: 'Cancel now' }).click();
  await dialog(page).getByRole('button', { name: 'Cancel now' }).click();
  await page.getByRole('heading', { name: 'Plan: None' }).waitFor();
  await page.getByText('Ended.').waitFor();
  await save.nth(1).click();
  await page.getByRole('heading', { name: 'Plan: scholar' }).waitFor();
  await page.getByLabel('Account cap').fill('');
  await save.first().click();
  await page.getByText('unlimited').waitFor();
  await api(page, 'PATCH', `/api/admin/users/${user.id}`, { plan: 'open' });
  await api(page, 'DELETE', '/api/admin/plans/scholar');
});

test('an account is disabled after confirmation, and enabled again', async (open) => {
  const page = await open(demo, '/admin/users');
  const user = await grace(page);
  await page.goto(`${demo.url}/admin/users/${user.id}`);
  await page.getByRole('button', { name: 'Disable account' }).click();
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  assert.equal((await grace(page)).disabled, false);
  await page.getByRole('button', { name: 'Disable account' }).click();
  await dialog(page).getByRole('button', { name: 'Disable account' }).click();
  await page.getByText('Grace Hopper disabled.').waitFor();
  await page.getByRole('button', { name: 'Enable account' }).click();
  await page.getByText('Grace Hopper enabled.').waitFor();
  assert.equal((await grace(page)).disabled, false);
});

test('the owner’s account has no controls', async (open) => {
  const page = await open(demo, '/admin/users');
  const me = (await api(page, 'GET', '/api/account')).account;
  await page.goto(`${demo.url}/admin/users/${me.id}`);
  await page.getByLabel('Default plan').waitFor();
  await eventually(async () => assert.equal(await page.getByRole('button', { name: 'Disable account' }).count(), 0));
  await eventually(async () => assert.equal(await page.getByLabel('Role').count(), 0));
});

test('members see no administration', async (open) => {
  const page = await open(member, '/settings/profile');
  await page.getByLabel('Name').waitFor();
  await eventually(async () => assert.equal(await page.getByRole('navigation', { name: 'Administration' }).count(), 0));
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Commands' }).fill('audit log');
  // Members without an agent get no results, others may search for the words.
  const ended = page.getByText('No results.').or(page.getByRole('option', { name: 'Search for “audit log”' }));
  await ended.first().waitFor();
  await eventually(async () => assert.equal(await page.getByRole('option', { name: /^Audit log/ }).count(), 0));
  await page.goto(`${demo.url}/admin/users`);
  await page.getByRole('heading', { name: 'Page not found', level: 2 }).waitFor();
  const owner = await open(demo, '/settings/profile');
  await owner.getByRole('navigation', { name: 'Administration' }).getByRole('link', { name: 'Plans' }).click();
  await owner.getByRole('heading', { name: 'Plans', level: 1 }).waitFor();
});

test('a plan is created, edited and deleted', async (open) => {
  const page = await open(demo, '/admin/plans');
  await page.getByRole('button', { name: 'New plan' }).click();
  await dialog(page).getByLabel('Name').fill('reader');
  await dialog(page).getByLabel('Research').check();
  await dialog(page).getByLabel('Monthly cap').fill('5');
  await dialog(page).getByLabel('Price per month').fill('9');
  await dialog(page).getByLabel('Storage in MB').fill('200');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  const row = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: /^reader/ }) });
  await row.getByText('US$9.00 per month').waitFor();
  await row.getByText('up to US$5.00 per month · 200 MB of storage').waitFor();
  await row.getByRole('button', { name: /^Edit/ }).click();
  await eventually(async () => assert.equal(await dialog(page).getByLabel('Monthly cap').inputValue(), '5'));
  await dialog(page).getByLabel('Monthly cap').fill('');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await row.getByText('up to US$5.00 per month').waitFor({ state: 'detached' });
  await row.getByRole('button', { name: /^Delete/ }).click();
  await dialog(page).getByRole('button', { name: 'Delete' }).click();
  await row.waitFor({ state: 'detached' });
  assert.equal(
    await page.getByRole('button', { name: /^Delete.*open/ }).count(),
    0,
    'the plan “open” can’t be deleted',
  );
});

test('the audit log shows accounts by email and filters by account', async (open) => {
  const page = await open(demo, '/admin/audit');
  await page.getByRole('cell', { name: 'Signed in' }).first().waitFor();
  await page.getByRole('link', { name: 'demo@example.org' }).first().waitFor();
  await page.getByLabel('Filter by email').fill('grace@example.org');
  await page.waitForURL('**/admin/audit?user=usr_*');
  await page.getByRole('link', { name: 'demo@example.org' }).first().waitFor({ state: 'detached' });
  await page.getByRole('cell', { name: /Account created/ }).waitFor();
  await page.getByRole('button', { name: 'All accounts' }).click();
  await page.getByRole('link', { name: 'demo@example.org' }).first().waitFor();
});

test('the audit log loads older entries', async (open) => {
  const page = await open(demo);
  // Serve a log of several pages without creating the entries.
  const entry = (seq) => ({ seq, at: '2026-11-15T10:00:00.000Z', event: 'sign_in', actor: 'operator', detail: {} });
  await page.route('**/api/admin/audit?*', (r) => {
    const from = Number(new URL(r.request().url()).searchParams.get('cursor') ?? 0);
    return r.fulfill({
      json: {
        events: Array.from({ length: 50 }, (_, i) => entry(from + i)),
        nextCursor: from < 100 ? String(from + 50) : undefined,
      },
    });
  });
  await page.goto(`${demo.url}/admin/audit`);
  for (let rows = 50; rows < 150; rows += 50) {
    await page.waitForFunction((n) => document.querySelectorAll('tbody tr').length === n, rows);
    await page.getByRole('button', { name: 'Show more' }).click();
  }
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 150);
  await page.getByRole('button', { name: 'Show more' }).waitFor({ state: 'detached' });
});

test('the system page shows tasks and cancels one', async (open) => {
  const page = await open(slow, '/chat');
  const agent = await agentOf(page);
  const { thread } = await api(page, 'POST', `/api/agents/${agent.id}/threads`, {});
  await page.evaluate(
    ([p]) =>
      fetch(p, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Prefer: 'respond-async' },
        body: JSON.stringify({ text: 'slow 10m; stream never' }),
      }),
    [`/api/agents/${agent.id}/threads/${thread.id}/messages`],
  );
  await page.goto(`${slow.url}/admin/system`);
  await page.getByText('SQLite').waitFor();
  await eventually(async () =>
    assert.equal(await page.getByRole('definition').last().getByRole('listitem').count(), 1, 'one server runs'),
  );
  await page.getByText('All totals match.').waitFor();
  await page
    .getByRole('listitem')
    .filter({ hasText: 'Answer' })
    .getByRole('button', { name: /^Cancel/ })
    .first()
    .click();
  await dialog(page).getByRole('button', { name: 'Cancel task' }).click();
  await page.getByText('Task cancelled.').waitFor();
  await page.getByRole('button', { name: 'Cancelled' }).click();
  await page.waitForURL('**/admin/system?state=cancelled');
  await page.getByRole('listitem').filter({ hasText: 'Answer' }).first().waitFor();
});

test('administration and account pages show load errors and retry', async (open) => {
  const page = await open(demo, '/chat', { expectErrors: true });
  const user = await grace(page);
  for (const path of [
    '/admin/users',
    `/admin/users/${user.id}`,
    '/admin/plans',
    '/admin/audit',
    '/admin/system',
    '/settings/subscription',
    '/settings/webhooks',
    '/settings/data',
  ]) {
    // The account request succeeds: without it the page would not be shown.
    await page.route(/\/api\/(admin|account)\/\w/, (r) => r.abort());
    await page.goto(demo.url + path);
    await page.getByRole('alert').first().waitFor();
    await page.getByText('Can’t reach the server').first().waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Retry' }).first().click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
  }
});

test('administration is available in German', async (open) => {
  const page = await open(demo, '/admin/users', { locale: 'de-DE' });
  await page.getByRole('heading', { name: 'Benutzer', level: 1 }).waitFor();
  await page.getByRole('navigation', { name: 'Verwaltung' }).getByRole('link', { name: 'Tarife' }).click();
  await page.getByRole('heading', { name: 'Tarife', level: 1 }).waitFor();
});

for (const [variant, options] of Object.entries(variants)) {
  test(`administration forms are accessible and fit, ${variant}`, async (open) => {
    const page = await open(demo, '/admin/users', { ...options, bypassCSP: true });
    const user = await grace(page);
    await page.goto(`${demo.url}/admin/users/${user.id}`);
    await checkPage(page, 'an account');
    await page.getByRole('button', { name: 'Add subscription' }).click();
    await checkPage(page, 'the subscription form');
    await page.goto(`${demo.url}/admin/plans`);
    await page.getByRole('button', { name: 'New plan' }).click();
    await checkPage(page, 'a new plan');
    await page.goto(`${demo.url}/settings/webhooks`);
    await page.getByRole('button', { name: 'New webhook' }).click();
    await checkPage(page, 'a new webhook');
  });
}
