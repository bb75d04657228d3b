// Inviting people, creating accounts, resetting passwords, and the page of the language models.
import assert from 'node:assert/strict';
import { checkPage, variants } from './check-page.mjs';
import { api, demo, eventually, member, test } from './harness.mjs';

const dialog = (page) => page.getByRole('dialog');
const visitor = { url: demo.url };

/** The link that a dialog shows once. */
const linkIn = (page) => dialog(page).locator('code').first().innerText();

/** Deletes the account with an address. */
async function removeUser(page, email) {
  const { users } = await api(page, 'GET', `/api/admin/users?q=${email}`);
  for (const u of users) await api(page, 'DELETE', `/api/admin/users/${u.id}`);
}

test('a person joins with an invitation link, once', async (open) => {
  const admin = await open(demo, '/admin/users');
  await admin.getByRole('button', { name: 'Add person' }).click();
  await dialog(admin).getByRole('button', { name: 'Create link' }).click();
  await dialog(admin).getByText('Send this link to the person.').waitFor();
  const link = await linkIn(admin);
  await dialog(admin).getByRole('button', { name: 'Done' }).click();
  await admin.getByRole('list', { name: 'Open invitations' }).getByText('Any address', { exact: true }).waitFor();

  const page = await open(visitor);
  await page.goto(link);
  await eventually(async () => assert.equal(await page.locator('#code').inputValue(), link.split('#')[1]));
  assert.ok(!page.url().includes('#'), 'the code is removed from the address bar');
  await page.fill('#name', 'Hedy Lamarr');
  await page.fill('#email', 'hedy@example.org');
  await page.fill('#password', 'correct horse battery staple');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.waitForURL('**/start');

  const again = await open(visitor, undefined, { expectErrors: true });
  await again.goto(link);
  await again.fill('#name', 'Somebody');
  await again.fill('#email', 'somebody@example.org');
  await again.fill('#password', 'correct horse battery staple');
  await again.getByRole('button', { name: 'Create account' }).click();
  await again.getByText('Unknown, expired, revoked or used invitation.').waitFor();
  await admin.reload();
  await admin.getByRole('link', { name: 'Hedy Lamarr' }).waitFor();
  await removeUser(admin, 'hedy@example.org');
});

test('an invitation is revoked', async (open) => {
  const admin = await open(demo, '/admin/users');
  await admin.getByRole('button', { name: 'Add person' }).click();
  await dialog(admin).getByRole('textbox', { name: 'Email' }).fill('rosalind@example.org');
  await dialog(admin).getByRole('button', { name: 'Create link' }).click();
  await dialog(admin).getByText('Send this link to the person.').waitFor();
  await dialog(admin).getByRole('button', { name: 'Done' }).click();
  await admin.getByRole('button', { name: /^Revoke.*rosalind/ }).click();
  await dialog(admin).getByRole('button', { name: 'Revoke' }).click();
  await admin.getByText('Invitation revoked.').waitFor();
  await admin.getByText('rosalind@example.org').first().waitFor({ state: 'detached' });
});

test('a created person chooses a password, and a reset ends their sessions', async (open) => {
  const admin = await open(demo, '/admin/users');
  await admin.getByRole('button', { name: 'Add person' }).click();
  await dialog(admin).getByText('Create account').first().click();
  await dialog(admin).getByRole('textbox', { name: 'Name' }).fill('Lise Meitner');
  await dialog(admin).getByRole('textbox', { name: 'Email' }).fill('lise@example.org');
  await dialog(admin).getByRole('button', { name: 'Create account' }).click();
  await dialog(admin).getByText('Send this link to Lise Meitner.').waitFor();
  const choose = async (link, password) => {
    const page = await open(visitor);
    await page.goto(link);
    await eventually(async () => assert.notEqual(await page.locator('#code').inputValue(), ''));
    await page.fill('#password', password);
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByRole('heading', { name: 'Password changed' }).waitFor();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.fill('#email', 'lise@example.org');
    await page.fill('#password', password);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/chat');
    return page;
  };
  const first = await choose(await linkIn(admin), 'correct horse battery staple');
  await dialog(admin).getByRole('button', { name: 'Done' }).click();
  await admin.getByRole('link', { name: 'Lise Meitner' }).click();
  await admin.getByRole('button', { name: 'Create reset link' }).click();
  await dialog(admin).getByText('Send this link to Lise Meitner.').waitFor();
  await choose(await linkIn(admin), 'another long passphrase');
  await first.goto(`${demo.url}/chat`);
  await first.waitForURL('**/sign-in**');
  await removeUser(admin, 'lise@example.org');
});

test('the sign-in page leads to help for a forgotten password', async (open) => {
  const page = await open(visitor, '/sign-in');
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await page.getByText('Ask your administrator for a reset link.').waitFor();
  await page.getByText('carrel admin user reset --user you@example.org').waitFor();
  await page.getByRole('link', { name: 'I have a reset code' }).click();
  await page.getByRole('heading', { name: 'Choose a new password' }).waitFor();
});

test('without a language model the chat says so, and links administrators to the settings', async (open) => {
  const page = await open(demo, '/chat');
  await page.getByText('No language model is connected. Carrel quotes your sources.').waitFor();
  await page.getByRole('link', { name: 'Connect a model' }).click();
  await page.getByRole('heading', { name: 'No language model is connected' }).waitFor();
  await page.getByText('CARREL_MODEL_BASE_URL=http://localhost:11434/v1').waitFor();
  await page.getByLabel('Provider').selectOption('anthropic');
  await page.getByText('model = anthropic').waitFor();
  const reader = await open(member, '/chat');
  await reader.goto(`${demo.url}/start`);
  await reader.getByRole('heading', { name: 'Get started' }).waitFor();
  await reader.goto(`${demo.url}/admin/models`);
  await reader.getByRole('heading', { name: 'Page not found', level: 2 }).waitFor();
});

test('the models of the provider are tested, with prices and the setting to write', async (open) => {
  const page = await open(demo);
  const models = [
    { name: 'small', default: true, priced: true, inMicros: 150_000, outMicros: 600_000 },
    { name: 'large', default: false, priced: false, inMicros: 10_000_000, outMicros: 30_000_000 },
  ];
  await page.route('**/api/admin/models', (r) =>
    r.fulfill({ json: { api: 'openai', baseUrl: 'https://models.example/v1', hasKey: true, models } }),
  );
  await page.route('**/api/admin/models/test', (r) =>
    r.fulfill({
      json: {
        ok: false,
        status: 200,
        milliseconds: 84,
        detail: 'The provider does not list every configured model.',
        models: ['small', 'huge'],
        missing: ['large'],
      },
    }),
  );
  await page.goto(`${demo.url}/admin/models`);
  await page.getByRole('cell', { name: 'US$0.15' }).waitFor();
  await page.getByRole('button', { name: 'Test connection' }).click();
  await page.getByText('The provider does not list every configured model.').waitFor();
  await page.getByText('not offered').waitFor();
  await page.getByLabel('huge').check();
  await page.getByText('CARREL_MODEL_ALLOWED=large,huge').waitFor();
});

test('a manager picks the model of an agent in the composer', async (open) => {
  const page = await open(demo);
  await page.route(/\/api\/agents(\?|$)/, async (r) => {
    const reply = await r.fetch();
    await r.fulfill({ response: reply, json: { ...(await reply.json()), models: ['small', 'large'] } });
  });
  let changed;
  await page.route(/\/api\/agents\/agt_\w+$/, async (r) => {
    if (r.request().method() !== 'PATCH') return r.continue();
    changed = r.request().postDataJSON();
    const { agent } = await (await r.fetch({ method: 'GET', postData: undefined })).json();
    return r.fulfill({ json: { agent: { ...agent, ...changed } } });
  });
  await page.goto(`${demo.url}/chat`);
  await page.getByLabel('Model of this agent').selectOption('large');
  await page.getByText('Landmarks now uses large.').waitFor();
  assert.deepEqual(changed, { model: 'large' });
});

for (const [variant, options] of Object.entries(variants))
  test(`people and models are accessible and fit, ${variant}`, async (open) => {
    const page = await open(demo, '/admin/users', { ...options, bypassCSP: true });
    await page.getByRole('button', { name: 'Add person' }).click();
    await dialog(page).getByLabel('Role').waitFor();
    await checkPage(page, 'add a person');
    await dialog(page).getByRole('button', { name: 'Create link' }).click();
    await dialog(page).getByText('Send this link to the person.').waitFor();
    await checkPage(page, 'the link');
    const { invitations } = await api(page, 'GET', '/api/admin/invitations');
    for (const i of invitations) await api(page, 'DELETE', `/api/admin/invitations/${i.id}`);
    await page.goto(`${demo.url}/admin/models`);
    await checkPage(page, 'models');
    for (const path of ['/join', '/forgot', '/reset']) {
      await page.goto(demo.url + path);
      await checkPage(page, path);
    }
  });
