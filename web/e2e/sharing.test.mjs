import assert from 'node:assert/strict';
import { agentOf, api, demo, eve, eventually, ida, member, removeAgent, test } from './harness.mjs';
import { checkPage } from './check-page.mjs';

const dialog = (page) => page.getByRole('dialog');

test('an agent is shared by email, the access is changed and revoked', async (open) => {
  const page = await open(demo, '/agents', { expectErrors: true });
  const agent = await agentOf(page);
  await page.goto(`${demo.url}/agents/${agent.id}`);
  await page.getByText('Not shared.').waitFor();
  const invite = async (email) => {
    await page.getByLabel('User’s email').fill(email);
    await page.getByLabel('Access', { exact: true }).selectOption('viewer');
    await page.getByRole('button', { name: 'Invite', exact: true }).click();
    await page.getByText('Invitation sent.').first().waitFor();
  };
  // An address without an account behaves the same.
  await invite('nobody@example.org');
  const row = (email) => page.getByRole('listitem').filter({ hasText: email });
  const rowOfUnknown = (await row('nobody@example.org').innerText()).replaceAll('nobody@', 'somebody@');
  await row('nobody@example.org')
    .getByRole('button', { name: /^Withdraw/ })
    .click();
  await page.getByText('Invitation withdrawn.').first().waitFor();
  await invite('Grace@example.org');
  await eventually(async () =>
    assert.equal((await row('grace@example.org').innerText()).replaceAll('grace@', 'somebody@'), rowOfUnknown),
  );
  await eventually(async () =>
    assert.equal(
      await page.getByText('Grace Hopper').count(),
      0,
      'the name is hidden until the invitation is accepted',
    ),
  );

  // The agent is not listed until the invitation is accepted.
  const other = await open(member, `/agents/${agent.id}`);
  await other.getByRole('heading', { name: 'Page not found' }).first().waitFor();
  await other.goto(`${demo.url}/agents`);
  await other.getByText('You have 1 invitation to an agent.').waitFor();
  await eventually(async () => assert.equal(await other.getByText('Landmarks').count(), 0));
  await other.getByRole('link', { name: 'Agents (1 invitation)' }).waitFor();
  await other.getByRole('link', { name: 'Review' }).click();
  await other.getByText('(demo@example.org) invites you').waitFor();
  await other.getByText('You can search this agent and read its documents.').waitFor();
  await other.getByRole('button', { name: /^Accept.*Landmarks/ }).click();
  await other.waitForURL(`**/agents/${agent.id}`);
  await other.getByText('You can search this agent and read its documents.').waitFor();
  await page.reload();
  await page.getByText('Grace Hopper', { exact: true }).waitFor();
  await eventually(async () =>
    assert.equal(await other.getByRole('button', { name: 'Save' }).count(), 0, 'a viewer can’t edit'),
  );
  await eventually(async () => assert.equal(await other.getByRole('button', { name: 'Delete agent' }).count(), 0));
  await eventually(async () => assert.equal(await other.getByRole('heading', { name: 'Sharing' }).count(), 0));

  // Actions that the grant does not include are not shown.
  await other.goto(`${demo.url}/chat?agent=${agent.id}`);
  await other.getByText('You can’t chat with this agent right now.').waitFor();
  await eventually(async () => assert.equal(await other.getByRole('textbox', { name: 'Message' }).count(), 0));
  await other.goto(`${demo.url}/search?q=computer&agent=${agent.id}`);
  await other.locator('li h2').first().waitFor();
  await eventually(async () => assert.equal(await other.getByRole('button', { name: /^Favourite/ }).count(), 0));
  await other.goto(`${demo.url}/memories?agent=${agent.id}`);
  await other.getByRole('heading', { name: 'No memories yet' }).waitFor();
  await eventually(async () => assert.equal(await other.getByRole('textbox', { name: 'New memory' }).count(), 0));
  await other.goto(`${demo.url}/sources/${agent.defaultSourceId}?agent=${agent.id}`);
  await other.getByRole('link', { name: 'Search source' }).waitFor();
  await eventually(async () =>
    assert.equal(await other.getByRole('button', { name: /\bEdit\b|Delete source|Remove/ }).count(), 0),
  );
  await other.goto(`${demo.url}/agents/${agent.id}`);

  await page.getByLabel('Grace Hopper: Access').selectOption('manager');
  await page.getByText('Saved').first().waitFor();
  await other.reload();
  await other.getByText('Only its owner can delete or share it.').waitFor();
  await other.getByRole('button', { name: 'Save' }).waitFor();
  await eventually(async () =>
    assert.equal(await other.getByRole('button', { name: 'Delete agent' }).count(), 0, 'a manager can’t delete'),
  );

  await page.getByRole('button', { name: /^Stop sharing.*Grace Hopper/ }).click();
  await page.getByText('Not shared.').waitFor();
  await other.goto(`${demo.url}/agents`);
  await other.getByRole('heading', { name: 'Agents', level: 1 }).waitFor();
  await other.getByText('Landmarks').waitFor({ state: 'detached' });
});

test('an invitation is declined without notifying the sender', async (open) => {
  const page = await open(demo, '/agents');
  const { agent } = await api(page, 'POST', '/api/agents', { name: 'Unwanted', description: '<b>Bold</b> words' });
  await api(page, 'PUT', `/api/agents/${agent.id}/grants/eve@example.org`, { grant: 'user' });
  const other = await open(eve, '/settings/invitations');
  await other.getByText('<b>Bold</b> words').waitFor();
  await other.getByRole('button', { name: /^Decline.*Unwanted/ }).click();
  await other.getByRole('heading', { name: 'No invitations' }).waitFor();
  await page.goto(`${demo.url}/agents/${agent.id}`);
  await page.getByText('Invited, not accepted yet').waitFor();
  await removeAgent(page, agent.id);
});

test('a signed-out person who opens an invitation signs in and sees it', async (open) => {
  const page = await open(demo, '/agents');
  const { agent } = await api(page, 'POST', '/api/agents', { name: 'Found by its address' });
  await api(page, 'PUT', `/api/agents/${agent.id}/grants/ida@example.org`, { grant: 'viewer' });
  const other = await open(ida, '/settings/invitations', {
    storageState: { cookies: [], origins: [] },
    expectErrors: true, // the first request of the app is refused
  });
  await other.waitForURL(/\/sign-in\?return=/);
  await other.fill('#email', ida.email);
  await other.fill('#password', ida.password);
  await other.keyboard.press('Enter');
  await other.waitForURL(`${demo.url}/settings/invitations`);
  await other.getByRole('button', { name: /^Accept.*Found by its address/ }).click();
  await other.waitForURL(`**/agents/${agent.id}`);
  await removeAgent(page, agent.id, other);
});

test('a user leaves a shared agent', async (open) => {
  const page = await open(demo, '/agents');
  const { agent } = await api(page, 'POST', '/api/agents', { name: 'Left behind' });
  await api(page, 'PUT', `/api/agents/${agent.id}/grants/ida@example.org`, { grant: 'user' });
  const other = await open(ida, '/settings/invitations');
  await other.getByRole('button', { name: /^Accept.*Left behind/ }).click();
  await other.getByRole('button', { name: 'Leave agent' }).click();
  await dialog(other).getByRole('button', { name: 'Leave agent' }).click();
  await other.getByText('You left Left behind.').waitFor();
  await eventually(async () => assert.equal(await other.getByRole('link', { name: 'Left behind' }).count(), 0));
  await removeAgent(page, agent.id);
});

test('only administrators can share with everyone', async (open) => {
  const page = await open(member, '/agents');
  const { agent } = await api(page, 'POST', '/api/agents', { name: 'Hers to share' });
  await page.goto(`${demo.url}/agents/${agent.id}`);
  await page.getByLabel('User’s email').waitFor();
  await page.waitForLoadState('networkidle');
  await eventually(async () => assert.equal(await page.getByLabel('Everyone').count(), 0));
  await removeAgent(page, agent.id);
});

test('an agent shared with everyone is marked in the picker', async (open) => {
  const page = await open(demo, '/agents');
  const agent = await agentOf(page);
  await page.goto(`${demo.url}/agents/${agent.id}`);
  await page.getByLabel('Everyone').check();
  await page.getByRole('button', { name: 'Share', exact: true }).click();
  await page.getByText('All accounts on this installation').waitFor();
  const other = await open(member, '/agents');
  const own = (await api(other, 'POST', '/api/agents', { name: 'My own' })).agent;
  await other.goto(`${demo.url}/memories`);
  await other.getByLabel('Agent').waitFor();
  await eventually(async () =>
    assert.deepEqual(
      await other.getByLabel('Agent').locator('option').allTextContents(),
      ['My own', 'Landmarks (shared)'],
      'own agents come first',
    ),
  );
  await removeAgent(other, own.id);
  await api(page, 'DELETE', `/api/agents/${agent.id}/grants/everybody`);
});

test('the spend cap of a key can be set and removed', async (open) => {
  const page = await open(demo, '/settings/keys');
  const { key } = await api(page, 'POST', '/api/account/keys', { name: 'capped', scopes: ['agents'] });
  await page.reload();
  await page.getByRole('button', { name: /^Set spend cap.*capped/ }).click();
  await dialog(page).getByLabel('US dollars per month').fill('3');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: /^US\$0.00 of US\$3.00 this month.*capped/ }).click();
  await dialog(page).getByLabel('US dollars per month').fill('');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: /^Set spend cap.*capped/ }).waitFor();
  await api(page, 'DELETE', `/api/account/keys/${key.id}`);
});

test('a webhook secret is shown once, and a test shows its result', async (open) => {
  const page = await open(demo, '/settings/webhooks', { expectErrors: true });
  await page.getByRole('heading', { name: 'No webhooks' }).waitFor();
  await page.getByRole('button', { name: 'New webhook' }).click();
  await dialog(page).getByLabel('URL').fill('http://127.0.0.1/hook');
  await dialog(page).getByRole('button', { name: 'Add webhook' }).click();
  await dialog(page).getByRole('alert').waitFor();
  await dialog(page).getByLabel('URL').fill('https://hooks.example/carrel');
  await dialog(page).getByLabel('Answer failed').uncheck();
  await dialog(page).getByRole('button', { name: 'Add webhook' }).click();
  await dialog(page)
    .getByText(/^whsec_/)
    .waitFor();
  await dialog(page).getByRole('button', { name: 'Done' }).click();
  await page.getByRole('heading', { name: 'https://hooks.example/carrel' }).waitFor();
  await eventually(async () => assert.ok(!(await page.content()).includes('whsec_'), 'the secret is no longer shown'));
  // The receiver does not exist, and no request leaves the machine.
  await page.route('**/webhooks/*/test', (r) =>
    r.fulfill({ json: { delivered: false, status: 500, detail: 'The receiver answered with status 500.' } }),
  );
  await page.getByRole('button', { name: /^Send test/ }).click();
  await page.getByText('The receiver answered with status 500.').waitFor();
  await page.getByRole('button', { name: /^Delete/ }).click();
  await dialog(page).getByRole('button', { name: 'Delete' }).click();
  await page.waitForFunction(async () => !(await (await fetch('/api/account/webhooks')).json()).webhooks.length);
});

test('a webhook chooses its events, and its deliveries can be sent again', async (open) => {
  const page = await open(demo, '/settings/webhooks');
  await page.getByRole('button', { name: 'New webhook' }).click();
  await dialog(page).getByLabel('URL').fill('https://hooks.example/events');
  assert.ok(await dialog(page).getByLabel('Answer completed').isChecked());
  assert.ok(!(await dialog(page).getByLabel('Import completed').isChecked()));
  await dialog(page).getByLabel('Answer completed').uncheck();
  await dialog(page).getByLabel('Answer failed').uncheck();
  await dialog(page).getByLabel('Agent shared').check();
  await dialog(page).getByLabel('Spend cap reached').check();
  await dialog(page).getByRole('button', { name: 'Add webhook' }).click();
  await dialog(page).getByRole('button', { name: 'Done' }).click();
  await page.getByText('Agent shared · Spend cap reached').waitFor();
  const { webhooks } = await api(page, 'GET', '/api/account/webhooks');
  const hook = webhooks.find((w) => w.url === 'https://hooks.example/events');
  assert.deepEqual(hook.events, ['share.created', 'spend.reached']);
  const delivery = {
    id: 'whd_1',
    messageId: 'whd_1',
    event: 'share.created',
    state: 'failed',
    attempts: [
      { at: new Date().toISOString(), durationMs: 12, status: 500, error: 'The receiver replied with status 500.' },
    ],
    createdAt: new Date().toISOString(),
  };
  // The receiver does not exist, so that the log of the server has no ended delivery for days.
  let sent = 0;
  await page.route('**/webhooks/*/deliveries?*', (r) => r.fulfill({ json: { deliveries: [delivery] } }));
  await page.route('**/deliveries/whd_1/redeliver', (r) => {
    sent++;
    return r.fulfill({ json: { delivery: { ...delivery, id: 'whd_2', state: 'pending', attempts: [] } } });
  });
  await page.getByRole('button', { name: /^Deliveries/ }).click();
  await dialog(page).getByRole('heading', { name: 'Agent shared' }).waitFor();
  await dialog(page).getByText('1 attempt').click();
  await dialog(page).getByText('The receiver replied with status 500.').waitFor();
  await checkPage(page, 'the deliveries of a webhook');
  await dialog(page)
    .getByRole('button', { name: /^Send again/ })
    .click();
  await page.getByText('Message queued.').waitFor();
  assert.equal(sent, 1);
  await page.keyboard.press('Escape');
  await api(page, 'DELETE', `/api/account/webhooks/${hook.id}`);
});

const plan = {
  name: 'reader',
  capabilities: ['search', 'chat'],
  models: [],
  spendCapMicros: 5_000_000,
  priceMicros: 9_000_000,
  declared: false,
};
const spend = {
  usedMicros: 1_000_000,
  capMicros: 5_000_000,
  leftMicros: 4_000_000,
  resetsAt: '2026-12-01T00:00:00.000Z',
};
const subscription = {
  plan: 'reader',
  status: 'active',
  startsAt: '2026-11-01T12:00:00.000Z',
  endsAt: '2026-12-01T12:00:00.000Z',
  cancelAtEnd: false,
  live: true,
  source: 'stripe',
};

test('the plan page shows the plan, the remaining budget and the reset date', async (open) => {
  const page = await open(demo, '/settings/subscription');
  await page.getByText('No end date.').waitFor();
  await page.getByText('unlimited').waitFor();
  assert.equal(
    await page.getByRole('button', { name: /Choose|Manage payment/ }).count(),
    0,
    'no payment provider is configured',
  );
  const states = [
    [{ plan, spend, subscription }, 'Renews on 1 Dec 2026.'],
    [{ plan, spend, subscription: { ...subscription, cancelAtEnd: true } }, 'Ends on 1 Dec 2026. Does not renew.'],
    [{ plan, spend, subscription: { ...subscription, status: 'trial' } }, 'Trial until 1 Dec 2026.'],
    [
      { plan, spend, subscription: { ...subscription, status: 'past_due', graceUntil: '2026-12-04T12:00:00.000Z' } },
      'Update your payment by 4 Dec 2026 to keep your plan.',
    ],
    [{ spend }, 'ask your administrator for a plan'],
  ];
  for (const [reply, text] of states) {
    await page.route('**/api/account/subscription', (r) => r.fulfill({ json: reply }));
    await page.reload();
    await page.getByText(text).waitFor();
    await page.getByText('US$4.00 left of US$5.00').waitFor();
    await page.unrouteAll();
  }
});

test('a plan is bought and managed through the payment provider', async (open) => {
  const page = await open(demo, '/settings/subscription');
  const billing = { checkout: true, portal: true, plans: [plan] };
  const requests = [];
  await page.route('**/api/account/subscription', (r) => r.fulfill({ json: { spend, billing } }));
  await page.route('**/api/account/subscription/*', (r) => {
    requests.push([new URL(r.request().url()).pathname.split('/').at(-1), r.request().postDataJSON()]);
    return r.fulfill({ json: { url: `${demo.url}/settings/profile?paid` } });
  });
  await page.reload();
  await page.getByRole('button', { name: 'Choose reader' }).click();
  await page.waitForURL('**/settings/profile?paid');
  await page.goBack();
  await page.getByRole('button', { name: 'Manage payment' }).click();
  await page.waitForURL('**/settings/profile?paid');
  assert.deepEqual(requests, [
    ['checkout', { plan: 'reader' }],
    ['portal', null],
  ]);
});

test('the list of plans for sale is accessible', async (open) => {
  const page = await open(demo, '/chat', { bypassCSP: true, width: 390, height: 844 });
  await page.route('**/api/account/subscription', (r) =>
    r.fulfill({
      json: {
        spend,
        subscription: { ...subscription, status: 'past_due', live: false },
        billing: { checkout: true, portal: true, plans: [plan] },
      },
    }),
  );
  await page.goto(`${demo.url}/settings/subscription`);
  await page.getByRole('button', { name: 'Choose reader' }).waitFor();
  await checkPage(page, 'a subscription');
});

test('an account is exported in the background, downloaded and deleted again', async (open) => {
  const page = await open(member, '/settings/data');
  await page.getByRole('button', { name: 'Create export' }).click();
  await page
    .getByText(/^Export of .* ready/)
    .first()
    .waitFor();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download' }).click(),
  ]);
  assert.match(file.suggestedFilename(), /\.zip$/);
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Create export' }).waitFor();
});

test('the export page shows progress and errors', async (open) => {
  const page = await open(member);
  let made = {
    id: 'exp_1',
    status: 'working',
    done: 120,
    total: 480,
    bytes: 1_000_000,
    createdAt: '2026-11-15T10:00:00.000Z',
  };
  await page.route('**/api/account/export', (r) => r.fulfill({ json: { export: made } }));
  await page.goto(`${demo.url}/settings/data`);
  await page.getByText('120 of 480 · 1 MB').waitFor();
  await eventually(async () => assert.equal(await page.getByRole('progressbar').getAttribute('value'), '120'));
  made = { ...made, status: 'failed', error: { code: 'internal', detail: 'The disk is full.' } };
  await page.getByRole('alert').getByText('The disk is full.').waitFor();
});

test('deleting an account requires typing its email', async (open) => {
  const page = await open(member, '/settings/data');
  let sent;
  await page.route('**/api/account', (r) =>
    r.request().method() === 'DELETE'
      ? ((sent = r.request().postDataJSON()), r.fulfill({ json: { deleted: true } }))
      : r.continue(),
  );
  await page.getByRole('button', { name: 'Delete my account' }).click();
  const confirm = dialog(page).getByRole('button', { name: 'Delete my account' });
  await eventually(async () => assert.ok(await confirm.isDisabled()));
  await dialog(page).getByLabel('Type “grace@example.org” to confirm').fill('grace@example.org');
  await confirm.click();
  await page.waitForURL('**/sign-in');
  assert.deepEqual(sent, { email: 'grace@example.org' });
});
