import assert from 'node:assert/strict';
import { demo, eventually, test } from './harness.mjs';
import { checkPage } from './check-page.mjs';

const phone = { width: 390, height: 844, touch: true };

test('settings are a list of pages on a phone', async (open) => {
  const page = await open(demo, '/settings', { ...phone, bypassCSP: true });
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  await page.getByText('demo@example.org').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await page.getByRole('navigation', { name: 'Administration' }).getByRole('link', { name: 'Plans' }).waitFor();
  await checkPage(page, 'the list of settings');
  if (process.env.CARREL_WEB_LOOK) await page.screenshot({ path: `${process.env.CARREL_WEB_LOOK}/settings-phone.png` });
  await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Usage' }).tap();
  await page.waitForURL('**/settings/usage');
  assert.equal(await page.getByRole('navigation', { name: 'Settings' }).locator('visible=true').count(), 0);
  await page.getByRole('link', { name: 'All settings' }).tap();
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  const wide = await open(demo, '/settings');
  await wide.waitForURL('**/settings/profile');
});

test('the message field, the chats and a new chat are within reach of the thumb', async (open) => {
  const page = await open(demo, '/chat', phone);
  const main = page.getByRole('main');
  for (const element of [
    page.getByRole('textbox', { name: 'Message' }),
    page.getByRole('button', { name: 'Show chats' }),
    main.getByRole('link', { name: 'New chat' }),
  ]) {
    await element.waitFor();
    const box = await element.boundingBox();
    assert.ok(box.y > 844 * 0.6, `at ${box.y}`);
  }
  for (const button of [
    page.getByRole('button', { name: 'Show chats' }),
    main.getByRole('link', { name: 'New chat' }),
  ]) {
    const box = await button.boundingBox();
    assert.ok(box.width >= 44 && box.height >= 44, JSON.stringify(box));
  }
  assert.match(await page.locator('meta[name=viewport]').getAttribute('content'), /viewport-fit=cover/);
  if (process.env.CARREL_WEB_LOOK) await page.screenshot({ path: `${process.env.CARREL_WEB_LOOK}/chat-phone.png` });
});

test('without a connection the service worker shows a page that says so', async (open) => {
  const page = await open(demo, '/chat', { serviceWorkers: 'allow', expectErrors: true });
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.reload(); // now the service worker controls the page and caches its files
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  await eventually(async () => {
    const urls = await page.evaluate(async () => {
      const found = [];
      for (const name of await caches.keys())
        for (const r of await (await caches.open(name)).keys()) found.push(new URL(r.url).pathname);
      return found;
    });
    assert.ok(urls.length > 1);
    assert.deepEqual(
      urls.filter((u) => !/^\/assets\/.*-[\w-]{8}\.\w+$/.test(u)),
      [],
      'only hashed files are cached',
    );
  });
  await page.context().setOffline(true);
  await page.goto(`${demo.url}/search?q=turing`).catch(() => {});
  await page.getByRole('heading', { name: 'You’re offline', level: 1 }).waitFor();
  await page.getByText('Carrel needs a connection to your server.').waitFor();
  if (process.env.CARREL_WEB_LOOK) await page.screenshot({ path: `${process.env.CARREL_WEB_LOOK}/offline.png` });
  await page.context().setOffline(false);
  await page.getByRole('link', { name: 'Try again' }).click();
  await page.locator('li h2').first().waitFor();
  assert.match(page.url(), /\/search\?q=turing/);
});
