// Checks of a page in several viewports and themes: no horizontal overflow, one h1, no axe violations.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { eventually } from './harness.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Viewports and themes to check. Open the page with bypassCSP, because axe is injected. */
export const variants = {
  'light, 1280 px': {},
  'dark, 1280 px': { dark: true },
  'light, 390 px': { width: 390, height: 844 },
  'dark, 390 px': { width: 390, height: 844, dark: true },
};

/** Waits until a page has loaded. Not networkidle: a page that follows an import keeps a connection open. */
export async function settled(page) {
  await page.locator('h1').first().waitFor({ state: 'attached' });
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
}

export async function checkPage(page, name) {
  await settled(page);
  await eventually(async () =>
    assert.ok(
      await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      `${name}: no horizontal scroll`,
    ),
  );
  await eventually(async () => assert.equal(await page.locator('h1').count(), 1, `${name}: one h1`));
  // Repeated, because text that is just appearing has too little contrast.
  await eventually(async () => assert.deepEqual(await violations(page), [], name));
}

/**
 * The violations of a page. In the dark theme only the rules about colours run: nothing else depends on the theme, and
 * every page is checked with all rules in the light theme.
 */
const violations = (page) =>
  page.evaluate(async (source) => {
    if (!window.axe) (0, eval)(source);
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    const rules = dark ? { runOnly: ['color-contrast', 'link-in-text-block'] } : {};
    return (await window.axe.run({ resultTypes: ['violations'], selectors: false, ...rules })).violations.map(
      (v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 150)).join(' | ')}`,
    );
  }, axe);
