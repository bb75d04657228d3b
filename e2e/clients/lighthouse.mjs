// Lets Lighthouse judge pages in a real browser and prints its scores as JSON, one page a line: node lighthouse.mjs RUNS PATH…
// CARREL_WEB_URL and CARREL_WEB_PASSWORD say where the demo is, CARREL_CHROMIUM which browser to use.
import * as chromeLauncher from 'chrome-launcher';
import lighthouse from 'lighthouse';

const [runs, ...paths] = process.argv.slice(2);
const server = process.env.CARREL_WEB_URL;
/** How many runs of a page may be lost: a browser on a busy machine does not always record its trace. */
const LOST = 5;
const categories = ['performance', 'accessibility', 'best-practices'];

/** The cookie of somebody who is signed in. */
async function signIn() {
  const form = await fetch(`${server}/sign-in`);
  const fields = new URLSearchParams([...(await form.text()).matchAll(/<input[^>]*type="hidden"[^>]*name="([^"]*)"[^>]*value="([^"]*)"/g)].map(([, name, value]) => [name, value]));
  fields.set('email', 'demo@example.org');
  fields.set('password', process.env.CARREL_WEB_PASSWORD);
  const cookies = (r) => r.headers.getSetCookie().map((c) => c.split(';')[0]);
  const reply = await fetch(`${server}/sign-in`, { method: 'POST', body: fields, redirect: 'manual', headers: { Cookie: cookies(form).join('; '), Origin: server } });
  if (reply.status !== 303) throw new Error(`sign-in: ${reply.status} ${await reply.text()}`);
  return cookies(reply).join('; ');
}

const median = (all) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)];

const cookie = await signIn();
const chrome = await chromeLauncher.launch({ chromePath: process.env.CARREL_CHROMIUM ?? '/usr/bin/chromium', chromeFlags: ['--headless=new', '--no-sandbox'] });
try {
  for (const path of paths) {
    const scores = Object.fromEntries(categories.map((c) => [c, []]));
    const failed = new Set();
    for (let lost = 0; scores.performance.length < Number(runs);) {
      const { lhr } = await lighthouse(server + path, { port: chrome.port, onlyCategories: categories, logLevel: 'error', extraHeaders: path === '/sign-in' ? {} : { Cookie: cookie } });
      if (lhr.runtimeError) {
        if (++lost > LOST) throw new Error(lhr.runtimeError.message);
        continue;
      }
      for (const c of categories) scores[c].push(Math.round(lhr.categories[c].score * 100));
      for (const c of categories.slice(1)) {
        for (const { id, weight } of lhr.categories[c].auditRefs) if (weight > 0 && lhr.audits[id].score !== null && lhr.audits[id].score < 1) failed.add(`${id}: ${lhr.audits[id].title}`);
      }
    }
    console.log(JSON.stringify({ path, ...Object.fromEntries(categories.map((c) => [c, median(scores[c])])), runs: scores.performance, failed: [...failed] }));
  }
} finally {
  await chrome.kill();
}
