// Sensitive changes need a recent proof of identity. The session of the tests is always recent, so the first reply to a
// change is replaced by the server's refusal.
import assert from 'node:assert/strict';
import { api, eventually, member, test } from './harness.mjs';

/** Refuses the first request to a path for lack of a proof, and returns the bodies of all requests. */
async function refuseOnce(page, path, method) {
  const bodies = [];
  await page.route(`**${path}`, (r) => {
    if (r.request().method() !== method) return r.continue();
    bodies.push(r.request().postData());
    if (bodies.length > 1) return r.continue();
    return r.fulfill({
      status: 403,
      headers: { 'Content-Type': 'application/problem+json' },
      body: JSON.stringify({ title: 'Forbidden', status: 403, code: 'step_up_required', detail: 'Confirm.' }),
    });
  });
  return bodies;
}

const nameField = (page) => page.getByRole('textbox', { name: 'Name' });

async function fillKeyForm(page, name) {
  await page.getByRole('button', { name: 'New key' }).click();
  await nameField(page).fill(name);
  await page.getByRole('checkbox', { name: 'Create and edit agents' }).uncheck();
  await nameField(page).press('Enter');
}

/** Deletes the only key of a name. */
async function deleteKey(page, name) {
  const made = (await api(page, 'GET', '/api/account/keys')).keys.filter((k) => k.name === name);
  assert.equal(made.length, 1);
  await api(page, 'DELETE', `/api/account/keys/${made[0].id}`);
}

test('a change that needs a proof of identity continues after the password, with everything typed', async (open) => {
  const page = await open(member, '/settings/keys', { expectErrors: true });
  const bodies = await refuseOnce(page, '/api/account/keys', 'POST');
  await fillKeyForm(page, 'Confirmed key');
  const dialog = page.getByRole('dialog', { name: 'Confirm it’s you' });
  const password = dialog.getByLabel('Password');
  await password.fill('not the password');
  await password.press('Enter');
  await dialog.getByText('This proof is not valid. Try again.').waitFor();
  await password.fill(member.password);
  await password.press('Enter');
  await page.getByRole('dialog', { name: 'Your new key' }).waitFor();
  await dialog.waitFor({ state: 'detached' });
  assert.equal(bodies.length, 2);
  assert.equal(bodies[1], bodies[0], 'the same request was sent again');
  await deleteKey(page, 'Confirmed key');
});

test('closing the dialog for a proof of identity keeps the form', async (open) => {
  const page = await open(member, '/settings/keys', { expectErrors: true, locale: 'de-DE' });
  const bodies = await refuseOnce(page, '/api/account/keys', 'POST');
  await page.getByRole('button', { name: 'Neuer Schlüssel' }).click();
  await page.locator('#key-name').fill('Kept');
  await page.locator('#key-name').press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Identität bestätigen' });
  await dialog.getByLabel('Passwort').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await page.locator('#key-name').inputValue(), 'Kept');
  assert.equal(bodies.length, 1);
});

test('a change continues when the identity is confirmed in another tab', async (open) => {
  const page = await open(member, '/settings/keys', { expectErrors: true });
  await refuseOnce(page, '/api/account/keys', 'POST');
  await fillKeyForm(page, 'Other tab');
  const other = page.getByRole('link', { name: 'Confirm another way' });
  assert.match(await other.getAttribute('href'), /^\/step-up\?/);
  assert.equal(await page.getByRole('dialog', { name: 'Your new key' }).count(), 0);
  await eventually(async () => {
    // The dialog compares with the state when it was opened, which may still be loading.
    await api(page, 'POST', '/api/account/step-up', { password: member.password });
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    assert.equal(await page.getByRole('dialog', { name: 'Your new key' }).count(), 1);
  });
  await deleteKey(page, 'Other tab');
});

test('a passkey confirms a change as well', async (open) => {
  const page = await open(member, undefined, { expectErrors: true });
  // The test server has an IP address, for which browsers refuse passkeys, so authenticator and server are replaced.
  await page.addInitScript(() => {
    const buffer = (text) => new TextEncoder().encode(text).buffer;
    navigator.credentials.get = async ({ publicKey }) => ({
      id: 'aWQ',
      rawId: buffer('id'),
      type: 'public-key',
      getClientExtensionResults: () => ({}),
      response: {
        clientDataJSON: publicKey.challenge.buffer,
        authenticatorData: buffer('data'),
        signature: buffer('signature'),
      },
    });
  });
  const reply = (body) => (r) => r.fulfill({ json: body });
  const passkey = { id: 'crd_1', name: 'Laptop', createdAt: '2026-11-15T10:00:00.000Z' };
  await page.route('**/api/account/passkeys', reply({ passkeys: [passkey], available: true }));
  await page.route(
    '**/api/account/step-up/options',
    reply({ ceremony: 'the ceremony', options: { challenge: 'Y2hhbGxlbmdl', allowCredentials: [{ id: 'aWQ' }] } }),
  );
  const proofs = [];
  await page.route('**/api/account/step-up', (r) => {
    proofs.push(r.request().postDataJSON());
    return r.fulfill({ json: { provedUntil: '2026-11-15T10:10:00.000Z' } });
  });
  const bodies = await refuseOnce(page, '/api/account/keys', 'POST');
  await page.goto(`${member.url}/settings/keys`);
  await fillKeyForm(page, 'Passkey key');
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByRole('dialog', { name: 'Your new key' }).waitFor();
  assert.equal(bodies.length, 2);
  assert.equal(proofs.length, 1);
  assert.equal(proofs[0].ceremony, 'the ceremony');
  assert.equal(proofs[0].answer.response.clientDataJSON, 'Y2hhbGxlbmdl');
  assert.equal(proofs[0].answer.response.signature, 'c2lnbmF0dXJl');
  await deleteKey(page, 'Passkey key');
});
