// Shared by the browser tests: one Chromium, signed-in sessions, and checks for console errors and CSP violations.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { after, test as nodeTest } from 'node:test';
import { chromium } from 'playwright-core';

const requireEnv = (name) => {
  if (!process.env[name]) throw new Error(`${name} is not set: run these tests with go test ./e2e/web`);
  return process.env[name];
};

/** The server with the demo library, and one whose turns follow instructions in the message. */
export const demo = { url: requireEnv('CARREL_WEB_URL'), password: requireEnv('CARREL_WEB_PASSWORD') };
export const slow = { url: requireEnv('CARREL_WEB_SLOW_URL'), password: requireEnv('CARREL_WEB_SLOW_PASSWORD') };
/** A server without accounts, and its set-up code. */
export const fresh = { url: requireEnv('CARREL_WEB_NEW_URL'), code: requireEnv('CARREL_WEB_NEW_CODE') };
/** A member of the demo server who is not an administrator. */
export const member = { ...demo, email: 'grace@example.org', password: requireEnv('CARREL_WEB_MEMBER_PASSWORD') };
/** Two members who answer invitations; declining one blocks further invitations of the same owner. */
export const eve = { ...member, email: 'eve@example.org' };
export const ida = { ...member, email: 'ida@example.org' };

/** Kills or restarts the slow server: control('kill'). */
export async function control(action) {
  const reply = await fetch(`${requireEnv('CARREL_WEB_SLOW_CONTROL')}/${action}`, { method: 'POST' });
  assert.equal(reply.status, 200);
}
/** Ends the command "until x" of a message to the slow server: release('x'). */
export const release = (name) => control(`release/${name}`);

const screenshotFolder = process.env.CARREL_WEB_PICTURES ?? '';

/** Chromium without a user interface of its own, if it is installed: it takes a third less processor time. */
const executables = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

const browser = await chromium.launch({
  executablePath: process.env.CARREL_CHROMIUM ?? executables.find(existsSync),
  args: ['--no-sandbox'],
});
after(() => browser.close());

/** How long a test waits for a condition. It is far longer than any needs, so that a busy machine fails no test. */
const PATIENCE_MS = 240_000;

/** Method and path of every API call made by a test. */
export const calls = new Set();
const sessions = new Map();

/** A proof of identity is valid for ten minutes. Older sessions are replaced, so that slow runs do not fail. */
const MAX_SESSION_MS = 7 * 60_000;

/**
 * Signs in once per server and user; all tests share the session. Only cookies are shared: to set the local storage of
 * a context, Playwright would load a page in a process of its own.
 */
async function session({ url, email = 'demo@example.org', password }) {
  const key = `${email} ${url}`;
  if (Date.now() - (sessions.get(key)?.signedInAt ?? 0) > MAX_SESSION_MS) {
    const context = await browser.newContext();
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    await page.goto(`${url}/sign-in`);
    await page.fill('#email', email);
    await page.fill('#password', password);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/chat');
    sessions.set(key, { cookies: await context.cookies(), signedInAt: Date.now() });
    await context.close();
  }
  return { cookies: sessions.get(key).cookies, origins: [] };
}

/** Opens a page as a signed-in user. Console errors and CSP violations fail the test. */
export async function open(
  server,
  path,
  { width = 1280, height = 800, dark = false, locale = 'en-GB', touch = false, expectErrors = false, ...rest } = {},
) {
  const context = await browser.newContext({
    // A server without a password has no account to sign in to.
    storageState: server.password ? await session(server) : undefined,
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    locale,
    hasTouch: touch,
    // A service worker would hide the requests for files from a test that replaces their replies.
    serviceWorkers: 'block',
    permissions: ['clipboard-read', 'clipboard-write'],
    ...rest,
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const consoleErrors = [];
  page.on('pageerror', (e) => consoleErrors.push(e.stack ?? String(e)));
  page.on('console', (m) => {
    if (m.type() === 'error' && (!expectErrors || !/Failed to load resource|net::/.test(m.text())))
      consoleErrors.push(m.text());
  });
  page.on('request', (r) => {
    const u = new URL(r.url());
    if (u.pathname.startsWith('/api/')) calls.add(`${r.method()} ${u.pathname}`);
  });
  await page.addInitScript(() =>
    addEventListener('securitypolicyviolation', (e) =>
      console.error(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`),
    ),
  );
  // A toast lasts ten seconds, which may pass before a busy machine has looked for it. It is ended by endToasts.
  await page.addInitScript(() => {
    const real = window.setTimeout;
    window.toastTimers = [];
    window.setTimeout = (f, ms, ...rest) => {
      if (ms === 10_000) window.toastTimers.push(f);
      return real(f, ms === 10_000 ? 20_000 : ms, ...rest);
    };
  });
  page.consoleErrors = consoleErrors;
  if (path) await page.goto(server.url + path);
  return page;
}

/** Defines a test with its own pages. A failed test leaves a screenshot of each. */
export function test(name, fn) {
  nodeTest(name, { timeout: 5 * PATIENCE_MS }, async (t) => {
    const pages = [];
    try {
      await fn(async (...args) => {
        const page = await open(...args);
        pages.push(page);
        return page;
      }, t);
      for (const page of pages) assert.deepEqual(page.consoleErrors, [], 'the console is clean');
    } catch (e) {
      if (screenshotFolder) {
        mkdirSync(screenshotFolder, { recursive: true });
        for (const [i, page] of pages.entries())
          await page.screenshot({ path: `${screenshotFolder}/${name.replace(/\W+/g, '-')}-${i}.png` }).catch(() => {});
      }
      throw e;
    } finally {
      for (const page of pages) {
        // A request of the page may be held by a handler of the test, which cannot end it after the page is closed. The
        // test may have closed the page itself.
        for (const routed of [page, page.context()])
          await routed.unrouteAll({ behavior: 'ignoreErrors' }).catch(() => {});
        await page.context().close();
      }
    }
  });
}

/** Repeats a check until it succeeds: most of what a page shows follows a reply of the server. */
export async function eventually(check) {
  for (const deadline = Date.now() + PATIENCE_MS; ;) {
    try {
      return await check();
    } catch (e) {
      if (!(e instanceof assert.AssertionError) || Date.now() > deadline) throw e;
      await new Promise((resume) => setTimeout(resume, 50));
    }
  }
}

/** The place of an element, once it no longer moves. */
export function placeOf(locator) {
  let last;
  return eventually(async () => {
    const before = last;
    last = await locator.boundingBox();
    assert.ok(last);
    assert.deepEqual(last, before, 'the element moves');
    return last;
  });
}

/** Ends the toasts of a page, as after their time. A deletion that they could undo is sent. */
export const endToasts = (page) => page.evaluate(() => window.toastTimers.splice(0).forEach((end) => end()));

/** Calls the API with the session of a page. */
export const api = (page, method, path, body) =>
  page.evaluate(
    async ([m, p, b]) => {
      const r = await fetch(p, {
        method: m,
        headers: b ? { 'Content-Type': 'application/json' } : {},
        body: b && JSON.stringify(b),
      });
      if (!r.ok) throw new Error(`${m} ${p}: ${r.status} ${await r.text()}`);
      return r.json();
    },
    [method, path, body],
  );

/** Deletes an agent after the pages have left it: they read it again and again, and its absence is an error there. */
export async function removeAgent(page, id, ...others) {
  for (const p of [page, ...others]) await p.goto(new URL('/settings/profile', p.url()).href);
  await api(page, 'DELETE', `/api/agents/${id}`);
}

export const agentOf = async (page) =>
  (await api(page, 'GET', '/api/agents')).agents.find((a) => a.name === 'Landmarks');

/** Sends a message and waits for the end of the answer. */
export async function ask(page, text) {
  const answers = page.getByRole('article', { name: 'Agent' });
  const before = await answers.count();
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
  await page.waitForFunction(
    ([n]) =>
      document.querySelectorAll('article[aria-label=Agent]').length > n && !document.querySelector('[aria-busy=true]'),
    [before],
  );
  return answers.last();
}

/** Creates a chat with long Markdown answers and returns its path and the first answer. */
export async function longThread(page, turns) {
  const agent = await agentOf(page);
  const { thread } = await api(page, 'POST', `/api/agents/${agent.id}/threads`, { title: 'Long chat' });
  const text =
    '\n\n## A heading\n\nA paragraph with **bold** and `code` and a [link](https://example.org).' +
    '\n\n- one\n- two\n- three\n\n| a | b |\n|---|---|\n| 1 | 2 |\n';
  // Sequentially, because a thread runs one turn at a time.
  await page.evaluate(
    async ([path, words, n]) => {
      for (let i = 1; i <= n; i++) {
        const r = await fetch(path, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', Prefer: 'wait=60' },
          body: JSON.stringify({ text: `Question ${i}.${words}` }),
        });
        if (r.status !== 200) throw new Error(`${r.status} ${await r.text()}`);
      }
    },
    [`/api/agents/${agent.id}/threads/${thread.id}/messages`, text, turns],
  );
  return { path: `/chat/${thread.id}?agent=${agent.id}`, firstAnswer: 'You wrote: Question 1.' };
}
