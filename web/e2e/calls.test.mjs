import assert from 'node:assert/strict';
import { calls, demo, test } from './harness.mjs';

test('the app calls only documented API operations', async (open) => {
  const page = await open(demo, '/chat');
  const { paths: documented } = await (await page.request.get(`${demo.url}/openapi.json`)).json();
  const known = Object.entries(documented).flatMap(([path, item]) =>
    Object.keys(item).map((method) => [method.toUpperCase(), new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`)]),
  );
  assert.ok(calls.size > 10, 'the tests before this one made calls');
  assert.deepEqual(
    [...calls].filter((c) => {
      const [method, path] = c.split(' ');
      if (method === 'HEAD' && /\/uploads\/[^/]+$/.test(path)) return false; // of tus, which createUpload describes
      return !known.some(([m, p]) => m === method && p.test(path));
    }),
    [],
  );
});
