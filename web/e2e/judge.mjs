// Checks a page in several viewports, themes and languages: no overflow, one h1, no axe violations.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Viewports, themes and languages to check. Open the page with bypassCSP, because axe is injected. */
export const looks = {
  'light, 1280 px': {},
  'dark, 1280 px': { dark: true },
  'light, 390 px': { width: 390, height: 844 },
  'dark, 390 px': { width: 390, height: 844, dark: true },
};

export async function judge(page, what) {
  // Not networkidle: a page that follows an import keeps a connection open.
  await page.locator('h1').first().waitFor({ state: 'attached' });
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  assert.ok(
    await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
    `${what}: no sideways scroll`,
  );
  assert.equal(await page.locator('h1').count(), 1, `${what}: one h1`);
  const found = await page.evaluate(async (source) => {
    if (!window.axe) (0, eval)(source);
    return (await window.axe.run()).violations.map(
      (v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 150)).join(' | ')}`,
    );
  }, axe);
  assert.deepEqual(found, [], what);
}
