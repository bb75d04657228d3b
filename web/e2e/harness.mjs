// What the browser tests share: one Chromium, people who are signed in, and an eye on all that must never happen.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { after, test as nodeTest } from 'node:test';
import { chromium } from 'playwright-core';

const need = (name) => {
  if (!process.env[name]) throw new Error(`${name} is not set: run these tests with go test ./e2e -run TestWebApp`);
  return process.env[name];
};

/** The server with the demo library, and one whose turns do what messages say. */
export const demo = { url: need('CARREL_WEB_URL'), password: need('CARREL_WEB_PASSWORD') };
export const slow = { url: need('CARREL_WEB_SLOW_URL'), password: need('CARREL_WEB_SLOW_PASSWORD') };
/** Somebody at the demo's server who does not run it. */
export const member = { ...demo, email: 'grace@example.org', password: need('CARREL_WEB_MEMBER_PASSWORD') };
/** Two more, who answer invitations: to decline one holds back others of the same owner. */
export const eve = { ...member, email: 'eve@example.org' };
export const ida = { ...member, email: 'ida@example.org' };

/** Kills a server as a crash would, or starts it again: power('kill'). Only the slow one is ever killed. */
export async function power(what) {
  const reply = await fetch(`${need('CARREL_WEB_SLOW_POWER')}/${what}`, { method: 'POST' });
  assert.equal(reply.status, 200);
}

const pictures = process.env.CARREL_WEB_PICTURES ?? '';

const browser = await chromium.launch({ executablePath: process.env.CARREL_CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
after(() => browser.close());

/** Every call of the API that any test made: method and path. */
export const calls = new Set();
const sessions = new Map();

/** A proof of identity is valid for ten minutes. Older sessions are replaced, so that slow runs do not fail. */
const maxSessionMs = 7 * 60_000;

/** Signs in once at each server and as each person; all tests share the session, as tabs of one browser do. */
async function session({ url, email = 'demo@example.org', password }) {
  const key = `${email} ${url}`;
  if (Date.now() - (sessions.get(key)?.signedInAt ?? 0) > maxSessionMs) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${url}/sign-in`);
    await page.fill('#email', email);
    await page.fill('#password', password);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/chat');
    sessions.set(key, { state: await context.storageState(), signedInAt: Date.now() });
    await context.close();
  }
  return sessions.get(key).state;
}

/** A page of somebody who is signed in. It fails its test for errors in the console and for violations of the policy. */
export async function open(server, path, { width = 1280, height = 800, dark = false, locale = 'en-GB', touch = false, expectErrors = false, ...rest } = {}) {
  const context = await browser.newContext({
    storageState: await session(server), viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', locale, hasTouch: touch, permissions: ['clipboard-read', 'clipboard-write'], ...rest,
  });
  const page = await context.newPage();
  const wrong = [];
  page.on('pageerror', (e) => wrong.push(e.stack ?? String(e)));
  page.on('console', (m) => { if (m.type() === 'error' && (!expectErrors || !/Failed to load resource|net::/.test(m.text()))) wrong.push(m.text()); });
  page.on('request', (r) => { const u = new URL(r.url()); if (u.pathname.startsWith('/api/')) calls.add(`${r.method()} ${u.pathname}`); });
  await page.addInitScript(() => addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`)));
  page.wrong = wrong;
  page.setDefaultTimeout(30_000);
  if (path) await page.goto(server.url + path);
  return page;
}

/** A test with pages of its own. One that fails leaves a picture of each. */
export function test(name, fn) {
  nodeTest(name, { timeout: 120_000 }, async (t) => {
    const pages = [];
    try {
      await fn(async (...args) => { const page = await open(...args); pages.push(page); return page; }, t);
      for (const page of pages) assert.deepEqual(page.wrong, [], 'the console is clean');
    } catch (e) {
      if (pictures) {
        mkdirSync(pictures, { recursive: true });
        for (const [i, page] of pages.entries()) await page.screenshot({ path: `${pictures}/${name.replace(/\W+/g, '-')}-${i}.png` }).catch(() => {});
      }
      throw e;
    } finally {
      for (const page of pages) await page.context().close();
    }
  });
}

/** Calls the API as the person of a page does. */
export const api = (page, method, path, body) => page.evaluate(async ([m, p, b]) => {
  const r = await fetch(p, { method: m, headers: b ? { 'Content-Type': 'application/json' } : {}, body: b && JSON.stringify(b) });
  if (!r.ok) throw new Error(`${m} ${p}: ${r.status} ${await r.text()}`);
  return r.json();
}, [method, path, body]);

/** The demo's agent. */
export const agentOf = async (page) => (await api(page, 'GET', '/api/agents')).agents.find((a) => a.name === 'Landmarks');

/** Sends a message and waits for the answer to end. */
export async function ask(page, text) {
  const answers = page.getByRole('article', { name: 'Agent' });
  const before = await answers.count();
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
  await page.waitForFunction(([n]) => document.querySelectorAll('article[aria-label=Agent]').length > n && !document.querySelector('[aria-busy=true]'), [before]);
  return answers.last();
}

/** Makes a thread of so many questions and answers, each a screenful of Markdown, and tells where it is and how it starts. */
export async function longThread(page, turns) {
  const agent = await agentOf(page);
  const { thread } = await api(page, 'POST', `/api/agents/${agent.id}/threads`, { title: 'A long one' });
  const text = '\n\n## A heading\n\nA paragraph with **bold** and `code` and a [link](https://example.org).\n\n- one\n- two\n- three\n\n| a | b |\n|---|---|\n| 1 | 2 |\n';
  // From the page, one after the other, because a thread has one turn at a time.
  await page.evaluate(async ([path, words, n]) => {
    for (let i = 1; i <= n; i++) {
      const r = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json', Prefer: 'wait=60' }, body: JSON.stringify({ text: `Question ${i}.${words}` }) });
      if (r.status !== 200) throw new Error(`${r.status} ${await r.text()}`);
    }
  }, [`/api/agents/${agent.id}/threads/${thread.id}/messages`, text, turns]);
  return { address: `/chat/${thread.id}?agent=${agent.id}`, first: 'You wrote: Question 1.' };
}
