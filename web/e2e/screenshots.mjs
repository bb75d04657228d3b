// Takes screenshots of every page, light, dark and on a phone, for the documentation: make screenshots.
import { mkdirSync } from 'node:fs';
import { agentOf, api, ask, demo, open } from './harness.mjs';

const folder = process.env.CARREL_SCREENSHOTS ?? '../docs/screenshots';
const only = process.env.CARREL_SCREENSHOTS_ONLY;
mkdirSync(folder, { recursive: true });

/** Creates content for every page. */
async function createContent() {
  const page = await open(demo, '/chat');
  const agent = await agentOf(page);
  const found = await api(page, 'POST', `/api/agents/${agent.id}/search`, { query: 'computer machine', numResults: 6 });
  for (const card of found.results) await api(page, 'POST', `/api/agents/${agent.id}/favourites`, { card });
  const { collection } = await api(page, 'POST', '/api/collections', { name: 'Chapter 2' });
  for (const [i, change] of [
    { tags: ['to read'] },
    { tags: ['machines', 'to read'], note: 'Compare with the lecture of 1947.', collections: [collection.id] },
  ].entries())
    await api(page, 'PATCH', `/api/agents/${agent.id}/favourites/${found.results.at(-1 - i).cardId}`, change);
  for (const text of [
    'I prefer primary sources.',
    'Answer in British English.',
    'My thesis is about the history of databases.',
  ])
    await api(page, 'POST', `/api/agents/${agent.id}/memories`, { text });
  const { memory } = await api(page, 'POST', `/api/agents/${agent.id}/memories`, { text: 'I read Latin.' });
  await api(page, 'DELETE', `/api/agents/${agent.id}/memories/${memory.id}`);
  const { thread } = await api(page, 'POST', `/api/agents/${agent.id}/threads`, { title: 'Punched cards before 1900' });
  await api(page, 'DELETE', `/api/agents/${agent.id}/threads/${thread.id}`);
  await api(page, 'DELETE', `/api/agents/${agent.id}/favourites/${found.results[2].cardId}`);
  const code = await api(page, 'POST', '/api/account/connect-codes');
  await api(page, 'POST', '/api/connect/exchange', { code: code.code, client: 'my-editor' });
  const grace = (await api(page, 'GET', '/api/admin/users?q=grace')).users[0];
  await api(page, 'PUT', '/api/admin/plans/reader', {
    capabilities: ['search', 'chat', 'favourites', 'memories'],
    spendCapMicros: 5_000_000,
    storageLimitBytes: 200_000_000,
    priceMicros: 9_000_000,
  });
  await api(page, 'PUT', `/api/admin/users/${grace.id}/subscription`, {
    plan: 'reader',
    endsAt: new Date(Date.now() + 30 * 86_400_000).toISOString(),
    trial: true,
  });
  await api(page, 'PUT', `/api/agents/${agent.id}/grants/${grace.id}`, { grant: 'user' });
  await api(page, 'POST', '/api/account/export');
  await ask(page, 'What did Turing ask about machines?');
  await page.goto(`${demo.url}/chat`);
  const answer = await ask(page, 'Who proposed the relational model, and why?');
  await answer.getByRole('button', { name: 'Open source 1' }).first().click();
  await page.locator('aside mark').waitFor();
  const chat = page.url().slice(demo.url.length);
  // After the answers, so that no delivery is attempted.
  await api(page, 'POST', '/api/account/webhooks', { url: 'https://hooks.example/carrel' });
  const [shareable] = /thr_\w+/.exec(chat);
  const { url: shared } = await api(page, 'POST', `/api/agents/${agent.id}/threads/${shareable}/links`);
  await page.context().close();
  return { chat, agent, grace, shared };
}

const { chat, agent, grace, shared } = await createContent();
const variants = {
  light: {},
  dark: { dark: true },
  phone: { width: 390, height: 844, touch: true },
};
const pages = {
  chat,
  start: '/start?new',
  'new-chat': '/chat',
  search: '/search?q=computer+machine&from=1945&to=1990',
  check: '/check',
  favourites: '/favourites',
  memories: '/memories',
  bin: '/bin',
  agents: '/agents',
  'new-agent': '/agents/new',
  agent: `/agents/${agent.id}`,
  sources: '/sources',
  settings: '/settings',
  profile: '/settings/profile',
  connect: '/settings/connect?client=cursor',
  connections: '/settings/connections',
  keys: '/settings/keys',
  usage: '/settings/usage',
  security: '/settings/security',
  audit: '/settings/audit',
  subscription: '/settings/subscription',
  webhooks: '/settings/webhooks',
  links: '/settings/links',
  invitations: '/settings/invitations',
  data: '/settings/data',
  'admin-users': '/admin/users',
  'admin-user': `/admin/users/${grace.id}`,
  'admin-plans': '/admin/plans',
  'admin-models': '/admin/models',
  'admin-audit': '/admin/audit',
  'admin-system': '/admin/system?state=complete',
  'not-found': '/nowhere',
};
/** Registers an OAuth client and returns the path of its consent page. */
async function consentPath() {
  const back = 'http://127.0.0.1:8765/callback';
  const reply = await fetch(`${demo.url}/api/auth/mcp/register`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ client_name: 'my-editor', redirect_uris: [back], token_endpoint_auth_method: 'none' }),
  });
  const { client_id } = await reply.json();
  const query = {
    response_type: 'code',
    client_id,
    redirect_uri: back,
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    state: 'x',
    resource: `${demo.url}/mcp`,
  };
  return `/api/auth/mcp/authorize?${new URLSearchParams(query)}`;
}

/** Checks a draft with sentences that the demo library contains, contradicts and does not know. */
async function checkDraft(page) {
  await page
    .getByRole('textbox', { name: 'Your text' })
    .fill(
      "Edgar Codd of IBM's research laboratory in San Jose proposes that users should see a database as a collection " +
        'of relations, that is, of tables of values, and nothing else. The paper appeared in June 1985. It led to ' +
        'System R, Ingres and the language SQL.\n\nCoffee cures cancer in most patients. What should we read next?',
    );
  await page.getByRole('button', { name: 'Check', exact: true }).click();
  await page.locator('.claim').first().waitFor();
}

const signedOut = { storageState: { cookies: [], origins: [] } };
const serverPages = {
  setup: [`${process.env.CARREL_WEB_NEW_URL}/setup`, signedOut],
  'sign-in': [`${demo.url}/sign-in`, signedOut],
  join: [`${demo.url}/join`, signedOut],
  forgot: [`${demo.url}/forgot`, signedOut],
  shared: [shared, signedOut],
  docs: [`${demo.url}/docs`, {}],
  consent: [demo.url + (await consentPath()), {}],
};
for (const [name, [url, options]] of Object.entries(serverPages)) {
  if (only && !only.split(',').includes(name)) continue;
  for (const [variant, look] of Object.entries(variants)) {
    const page = await open(demo, '', { ...look, ...options });
    await page.goto(url);
    await page.screenshot({ path: `${folder}/${name}-${variant}.png` });
    if (page.consoleErrors.length) console.log(name, variant, page.consoleErrors);
    await page.context().close();
  }
}

for (const [name, path] of Object.entries(pages)) {
  if (only && !only.split(',').includes(name)) continue;
  for (const [variant, options] of Object.entries(variants)) {
    const page = await open(demo, path, options);
    if (name === 'check') await checkDraft(page);
    await page.waitForLoadState('networkidle');
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    await page.screenshot({ path: `${folder}/${name}-${variant}.png` });
    if (page.consoleErrors.length) console.log(name, variant, page.consoleErrors);
    await page.context().close();
  }
}
process.exit(0);
