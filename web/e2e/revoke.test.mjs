// Revoking is immediate: the next request with the credential fails, even if the tab crashes.
import assert from 'node:assert/strict';
import { agentOf, api, demo, member, test, eventually } from './harness.mjs';

const statusOf = async (path, token, init = {}) =>
  (
    await fetch(demo.url + path, {
      ...init,
      headers: { ...(token && { Authorization: `Bearer ${token}` }), ...init.headers },
    })
  ).status;
const confirm = (page, name) => page.getByRole('dialog').getByRole('button', { name }).click();

/** Opens a page whose long timers never fire, as in a frozen or crashed tab: a delayed deletion is never sent. */
async function openFrozen(open, user, path) {
  const page = await open(user);
  await page.addInitScript(() => {
    const real = window.setTimeout;
    window.setTimeout = (f, ms, ...rest) => (ms >= 1000 ? 0 : real(f, ms, ...rest));
  });
  await page.goto(user.url + path);
  return page;
}

/** Each case creates a credential or grant and returns how to revoke it and its status before and after. */
const cases = {
  async connection(page) {
    const { code } = await api(page, 'POST', '/api/account/connect-codes');
    const { token } = await api(page, 'POST', '/api/connect/exchange', { code, client: 'to be revoked' });
    return {
      at: '/settings/connections',
      deletes: /\/api\/account\/connections\/\w+$/,
      before: 200,
      after: 401,
      status: () => statusOf('/api/agents', token),
      async revoke() {
        await page.getByRole('button', { name: /^Revoke.*to be revoked/ }).click();
        await confirm(page, 'Revoke');
      },
    };
  },
  async key(page) {
    const { token } = await api(page, 'POST', '/api/account/keys', { name: 'to be revoked', scopes: ['agents'] });
    return {
      at: '/settings/keys',
      deletes: /\/api\/account\/keys\/\w+$/,
      before: 200,
      after: 401,
      status: () => statusOf('/api/agents', token),
      async revoke() {
        await page.getByRole('button', { name: /^Revoke.*to be revoked/ }).click();
        await confirm(page, 'Revoke');
      },
    };
  },
  async session(page, open) {
    const other = await open(member, '/sign-in', { storageState: { cookies: [], origins: [] } });
    await other.fill('#email', member.email);
    await other.fill('#password', member.password);
    await other.keyboard.press('Enter');
    await other.waitForURL('**/chat');
    const cookie = (await other.context().cookies()).map((c) => `${c.name}=${c.value}`).join('; ');
    return {
      at: '/settings/security',
      deletes: /\/api\/account\/sessions$/,
      before: 200,
      after: 401,
      status: () => statusOf('/api/agents', '', { headers: { Cookie: cookie } }),
      revoke: () => page.getByRole('button', { name: 'Sign out all other sessions' }).click(),
    };
  },
  async 'connect code'(page) {
    let code;
    return {
      at: '/settings/connect?client=curl',
      deletes: /\/api\/account\/connect-codes\/\w+$/,
      after: 400,
      status: () =>
        statusOf('/api/connect/exchange', '', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ code, client: 'too late' }),
        }),
      async revoke() {
        await page.getByRole('button', { name: 'Create code' }).click();
        await page.getByRole('timer').waitFor();
        code = /crlc_\w+/.exec(await page.locator('#main').textContent())[0];
        await page.getByRole('button', { name: 'Cancel' }).click();
      },
    };
  },
  async webhook(page) {
    const { webhook } = await api(page, 'POST', '/api/account/webhooks', {
      url: 'https://hooks.example/to-be-revoked',
    });
    return {
      at: '/settings/webhooks',
      deletes: /\/api\/account\/webhooks\/\w+$/,
      before: true,
      after: false,
      status: async () => (await api(page, 'GET', '/api/account/webhooks')).webhooks.some((w) => w.id === webhook.id),
      async revoke() {
        await page.getByRole('button', { name: /^Delete.*to-be-revoked/ }).click();
        await confirm(page, 'Delete');
      },
    };
  },
  async grant(page, open) {
    const { agent } = await api(page, 'POST', '/api/agents', { name: 'Shared for a while' });
    await api(page, 'PUT', `/api/agents/${agent.id}/grants/demo@example.org`, { grant: 'user' });
    const other = await open(demo, '/settings/invitations');
    await other.getByRole('button', { name: /^Accept.*Shared for a while/ }).click();
    await other.waitForURL(`**/agents/${agent.id}`);
    const { token } = await api(other, 'POST', '/api/account/keys', { name: 'reader', scopes: ['agents'] });
    return {
      at: `/agents/${agent.id}`,
      deletes: /\/grants\/\w+$/,
      before: 200,
      after: 404,
      status: () => statusOf(`/api/agents/${agent.id}`, token),
      revoke: () => page.getByRole('button', { name: /^Stop sharing/ }).click(),
      cleanUp: () => api(page, 'DELETE', `/api/agents/${agent.id}`),
    };
  },
};

for (const [name, make] of Object.entries(cases)) {
  test(`a ${name} is revoked at once, without Undo`, async (open) => {
    const page = await openFrozen(open, member, '/chat');
    const { at, deletes, before, after, status, revoke, cleanUp } = await make(page, open);
    if (before !== undefined) assert.equal(await status(), before);
    await page.goto(demo.url + at);
    const sent = page.waitForResponse(
      (r) => r.request().method() === 'DELETE' && deletes.test(new URL(r.url()).pathname),
    );
    await revoke();
    assert.equal((await sent).status(), 200);
    assert.equal(await status(), after, 'the next request');
    await eventually(async () => assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0));
    await cleanUp?.();
  });
}

test('deleted content can be restored', async (open) => {
  const page = await open(demo, '/chat');
  const agent = await agentOf(page);
  const { memory } = await api(page, 'POST', `/api/agents/${agent.id}/memories`, { text: 'Kept by Undo' });
  await page.goto(`${demo.url}/memories?agent=${agent.id}`);
  const row = page.getByRole('listitem').filter({ hasText: 'Kept by Undo' });
  await row.getByRole('button', { name: /^Delete/ }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await row.waitFor();
  await api(page, 'DELETE', `/api/agents/${agent.id}/memories/${memory.id}`);
});
