// Serves the built files of the app from a cache, and a page without data if there is no connection. Only files with a
// hash of their content in the name are cached, so a new version of the app is used as soon as the server has it. Pages
// and replies of the API are never cached.

const CACHE = 'carrel-assets';
/** The number of files that are kept. A build has fewer; the oldest ones belong to earlier versions. */
const MAX_FILES = 250;

const scope = new URL(self.registration.scope).pathname;

const texts = {
  en: {
    title: 'You’re offline',
    text: 'Carrel needs a connection to your server. Your chats and documents are safe there.',
    retry: 'Try again',
  },
  de: {
    title: 'Sie sind offline',
    text: 'Carrel braucht eine Verbindung zu Ihrem Server. Ihre Chats und Dokumente sind dort sicher.',
    retry: 'Erneut versuchen',
  },
};

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (e) => e.waitUntil(self.clients.claim()));

self.addEventListener('fetch', (e) => {
  const { request } = e;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== location.origin) return;
  if (url.pathname.startsWith(`${scope}assets/`)) e.respondWith(asset(request));
  else if (request.mode === 'navigate' && !url.pathname.startsWith(`${scope}api/`))
    e.respondWith(fetch(request).catch(() => offlinePage(url)));
});

/** Opens the chat of a notification. */
self.addEventListener('notificationclick', (e) => {
  e.notification.close();
  const url = e.notification.data?.url;
  if (!url) return;
  e.waitUntil(
    self.clients.matchAll({ type: 'window' }).then(async ([client]) => {
      if (!client) return self.clients.openWindow(url);
      await client.focus();
      return client.navigate(url);
    }),
  );
});

async function asset(request) {
  const cache = await caches.open(CACHE);
  const known = await cache.match(request.url);
  if (known) return known;
  const reply = await fetch(request);
  if (reply.status === 200) {
    await cache.put(request.url, reply.clone());
    const keys = await cache.keys();
    await Promise.all(keys.slice(0, Math.max(0, keys.length - MAX_FILES)).map((key) => cache.delete(key)));
  }
  return reply;
}

async function offlinePage(url) {
  const language = self.navigator.language.startsWith('de') ? 'de' : 'en';
  const { title, text, retry } = texts[language];
  const keys = await (await caches.open(CACHE)).keys();
  const style = keys.map((key) => new URL(key.url).pathname).findLast((path) => /\/first-[^/]*\.css$/.test(path));
  const escaped = (url.pathname + url.search).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const html = `<!doctype html>
<html lang="${language}">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover" />
    <meta name="color-scheme" content="light dark" />
    <title>${title} · Carrel</title>
    ${style ? `<link rel="stylesheet" href="${style}" />` : ''}
  </head>
  <body class="offline">
    <main>
      <h1>${title}</h1>
      <p>${text}</p>
      <p><a class="btn" href="${escaped}">${retry}</a></p>
    </main>
  </body>
</html>`;
  return new Response(html, {
    status: 503,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'",
    },
  });
}
