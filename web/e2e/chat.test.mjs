import assert from 'node:assert/strict';
import { ask, demo, test } from './harness.mjs';

test('an answer cites its sources and [n] opens the document at the quote', async (open) => {
  const page = await open(demo, '/');
  await page.waitForURL('**/chat');
  const answer = await ask(page, 'Who proposed the relational model?');
  await answer.getByRole('button', { name: 'Open source 1' }).first().click();
  const panel = page.getByRole('complementary', { name: 'Source 1' });
  const quote = await panel.locator('blockquote').textContent();
  assert.equal(await panel.locator('mark').textContent(), quote);
  assert.ok(await panel.locator('mark').evaluate((m) => { const r = m.getBoundingClientRect(); return r.top >= 0 && r.top < innerHeight; }), 'the quote is in sight');
});
