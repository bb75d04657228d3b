import assert from 'node:assert/strict';
import { ask, demo, eventually, release, slow, test } from './harness.mjs';
import { checkPage } from './check-page.mjs';

test('the account menu has the name, leads to the settings and signs out', async (open) => {
  const page = await open(demo, '/chat', { bypassCSP: true });
  const menu = page.getByRole('navigation', { name: 'Main' }).getByRole('button', { name: 'Account' });
  await menu.click();
  await page.getByText('demo@example.org').waitFor();
  await checkPage(page, 'the account menu');
  if (process.env.CARREL_WEB_LOOK) await page.screenshot({ path: `${process.env.CARREL_WEB_LOOK}/account-menu.png` });
  await page.locator('.menu:popover-open').getByRole('link', { name: 'Settings' }).click();
  await page.waitForURL('**/settings/profile');
  let method;
  // The other tests share the session.
  await page.route('**/sign-out', (r) => {
    method = r.request().method();
    return r.fulfill({ contentType: 'text/html', body: '<title>Signed out</title>' });
  });
  await menu.focus();
  await page.keyboard.press('Enter');
  await page.locator('.menu:popover-open').getByRole('button', { name: 'Sign out' }).press('Enter');
  await page.waitForURL('**/sign-out');
  assert.equal(method, 'POST');
});

test('the palette finds settings, documents and chats, and searches', async (open) => {
  const page = await open(demo, '/chat');
  await ask(page, 'Who proposed the relational model?');
  const field = page.getByRole('combobox', { name: 'Commands' });
  await page.keyboard.press('Control+k');
  await field.fill('relational model of data');
  const found = page.getByRole('option', { name: /A Relational Model of Data.*Document/ });
  await found.waitFor();
  await page.getByRole('option', { name: 'Search for “relational model of data”' }).waitFor();
  await found.click();
  await page.getByRole('complementary', { name: /A Relational Model of Data/ }).waitFor();
  await page.keyboard.press('Control+k');
  await field.fill('proposed');
  await page.getByRole('option', { name: /Chat$/ }).first().waitFor();
  await field.fill('german');
  await field.fill('webhooks');
  await page.getByRole('option', { name: /^Webhooks/ }).click();
  await page.waitForURL('**/settings/webhooks');
});

test('the list of shortcuts has a group for each place', async (open) => {
  const page = await open(demo, '/search', { bypassCSP: true });
  await page.keyboard.press('Control+Shift+S');
  await page.waitForURL('**/favourites');
  await page.keyboard.press('?');
  const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  for (const title of ['Everywhere', 'Chat', 'Check', 'Documents'])
    await list.getByRole('heading', { name: title, level: 3 }).waitFor();
  await checkPage(page, 'the list of shortcuts');
});

test('an answer that ends while the page is hidden is notified, if the user has turned it on', async (open) => {
  const page = await open(slow);
  await page.addInitScript(() => {
    window.asked = 0;
    window.notified = [];
    window.Notification = class {
      static permission = localStorage.getItem('granted') ?? 'default';
      static requestPermission() {
        window.asked++;
        localStorage.setItem('granted', 'granted');
        this.permission = 'granted';
        return Promise.resolve('granted');
      }
      constructor(title, options) {
        window.notified.push([title, options.body]);
      }
      close() {}
    };
    Object.defineProperty(document, 'hidden', { get: () => window.away === true });
  });
  const answerWhileHidden = async (signal) => {
    await page.goto(`${slow.url}/chat`);
    await page.getByRole('textbox', { name: 'Message' }).fill(`until ${signal}; stream done`);
    await page.keyboard.press('Enter');
    await page.locator('[aria-busy=true]').waitFor();
    await page.evaluate(() => (window.away = true));
    await release(signal);
    await page.locator('[aria-busy=true]').waitFor({ state: 'detached' });
  };
  await answerWhileHidden('before');
  assert.deepEqual(await page.evaluate(() => [window.asked, window.notified]), [0, []]);
  await page.goto(`${slow.url}/settings/profile`);
  const control = page.getByRole('switch', { name: 'Notify me when an answer is ready' });
  await control.check();
  await eventually(async () => assert.equal(await page.evaluate(() => window.asked), 1));
  await answerWhileHidden('after');
  await eventually(async () =>
    assert.deepEqual(await page.evaluate(() => window.notified), [['Answer ready.', 'done']]),
  );
  await page.goto(`${slow.url}/settings/profile`);
  await control.uncheck();
  await eventually(async () => assert.ok(!(await control.isChecked())));
});
