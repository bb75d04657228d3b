import assert from 'node:assert/strict';
import { agentOf, api, demo, eventually, member, removeAgent, test } from './harness.mjs';

const noSubscription =
  'This account has no subscription. Existing content stays readable; searching and chatting need a plan.';
const problem = (status, code, detail, headers = {}) => ({
  status,
  headers: { 'Content-Type': 'application/problem+json', ...headers },
  body: JSON.stringify({ type: 'about:blank', title: code, status, code, detail, requestId: 'req_test' }),
});

/** Runs a function while the member has the given plan. */
async function withPlan(admin, plan, fn) {
  const { users } = await api(admin, 'GET', '/api/admin/users?q=grace@example.org');
  const path = `/api/admin/users/${users[0].id}`;
  await api(admin, 'PATCH', path, { plan });
  try {
    await fn();
  } finally {
    await api(admin, 'PATCH', path, { plan: 'open' });
  }
}

test('without a plan, content is readable, and chat and search link to the plan page', async (open) => {
  const admin = await open(demo, '/settings/profile');
  const page = await open(member, '/agents', { expectErrors: true });
  const { agent } = await api(page, 'POST', '/api/agents', { name: 'Hers' });
  const { thread } = await api(page, 'POST', `/api/agents/${agent.id}/threads`, { title: 'From before' });
  await withPlan(admin, 'none', async () => {
    for (const path of ['/chat', `/chat/${thread.id}`]) {
      await page.goto(`${demo.url}${path}?agent=${agent.id}`);
      await page.getByText('You can’t chat with this agent right now.').waitFor();
      await page.getByRole('link', { name: 'From before' }).waitFor();
      await eventually(async () => assert.equal(await page.getByRole('textbox', { name: 'Message' }).count(), 0));
      await page.getByRole('link', { name: 'View your plan' }).click();
      await page.getByText('To search and chat, ask your administrator for a plan.').waitFor();
    }
    await page.goto(`${demo.url}/search?q=computer&agent=${agent.id}`);
    await page.getByRole('alert').getByText(noSubscription).waitFor();
    await page.getByRole('alert').getByRole('link', { name: 'View your plan' }).click();
    await page.getByRole('heading', { name: 'Plan' }).first().waitFor();
  });
  await removeAgent(page, agent.id);
});

test('people whose plan has no agents of their own are told so before they fill in the form', async (open) => {
  const admin = await open(demo, '/settings/profile');
  const page = await open(member, '/agents');
  const german = await open(member, '/agents', { locale: 'de-DE' });
  await withPlan(admin, 'none', async () => {
    await page.getByRole('link', { name: 'New agent' }).click();
    await page.getByText('Your plan doesn’t include agents of your own').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Create agent' }).count(), 0);
    await page.getByRole('link', { name: 'View your plan' }).click();
    await page.waitForURL('**/settings/subscription');
    await german.goto(`${demo.url}/agents/new`);
    await german.getByText('Ihr Tarif enthält keine eigenen Agenten').waitFor();
  });
});

test('a message refused by the spend cap or the rate limit shows the reason and keeps the text', async (open) => {
  const page = await open(demo, '/chat', { expectErrors: true });
  const agent = await agentOf(page);
  const field = page.getByRole('textbox', { name: 'Message' });
  for (const [status, code, detail] of [
    [402, 'no_subscription', noSubscription],
    [
      402,
      'spend_cap_reached',
      'The spend cap of 5.00 USD is reached (5.00 USD used). It resets at 2026-12-01T00:00:00Z; an admin can raise it.',
    ],
    [429, 'rate_limited', 'Too many requests. Try again in 3 seconds.'],
  ]) {
    await page.route('**/messages', (r) =>
      r.request().method() === 'POST'
        ? r.fulfill(problem(status, code, detail, status === 429 ? { 'Retry-After': '3' } : {}))
        : r.continue(),
    );
    await page.goto(`${demo.url}/chat?agent=${agent.id}`);
    await field.fill(`A question for ${code}`);
    await page.keyboard.press('Enter');
    await page.getByText(detail).waitFor();
    await page.waitForFunction(
      (words) => document.querySelector('textarea[data-main-field]')?.value === words,
      `A question for ${code}`,
    );
    await page.unrouteAll();
    const thread = new URL(page.url()).pathname.split('/').at(-1); // created for the question
    await api(page, 'DELETE', `/api/agents/${agent.id}/threads/${thread}`);
  }
});

test('a rate-limited search shows how long to wait, and can be retried', async (open) => {
  const page = await open(demo, '/chat', { expectErrors: true });
  const agent = await agentOf(page);
  await page.route('**/search', (r) =>
    r.request().method() === 'POST'
      ? r.fulfill(problem(429, 'rate_limited', 'Too many requests. Try again in 3 seconds.', { 'Retry-After': '3' }))
      : r.continue(),
  );
  await page.goto(`${demo.url}/search?q=computer&agent=${agent.id}`);
  await page.getByRole('alert').getByText('Too many requests. Try again in 3 seconds.').waitFor();
  assert.equal(
    await page.getByRole('link', { name: 'View your plan' }).count(),
    0,
    'a plan does not lift the rate limit',
  );
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.locator('li h2').first().waitFor();
});
