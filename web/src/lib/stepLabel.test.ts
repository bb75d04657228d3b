import { beforeEach, describe, expect, it, vi } from 'vitest';

async function load(language: 'en' | 'de') {
  vi.resetModules();
  const i18n = await import('./i18n/index.svelte');
  await i18n.setLanguage(language);
  return (await import('./stepLabel')).stepLabel;
}

beforeEach(() => {
  vi.stubGlobal('document', { documentElement: {}, querySelector: () => null });
  vi.stubGlobal('navigator', { languages: [] });
});

describe('stepLabel', () => {
  it('is the label of the server in English', async () => {
    const stepLabel = await load('en');
    expect(stepLabel({ kind: 'answer', label: 'Section 2 of 3: Origins: writing · 12 s · 40 words' })).toBe(
      'Section 2 of 3: Origins: writing · 12 s · 40 words',
    );
    expect(stepLabel({ kind: 'search', label: '' })).toBe('Searching');
  });

  it.each([
    ['search', 'Searching 3 sources', 'Suchen'],
    ['answer', 'Writing the answer · 12 s · 1,040 words', 'Antwort schreiben · 12 s · 1.040 Wörter'],
    [
      'answer',
      'Section 2 of 3: Codd: his model: writing · 5 s',
      'Abschnitt 2 von 3: Codd: his model: Antwort schreiben · 5 s',
    ],
    ['sections', 'Outline: 2 sections: Origins; Use', '2 Abschnitte: Origins; Use'],
    ['think', 'Thought 1', 'Thought 1'],
  ])('translates %s: %s', async (kind, label, want) => {
    const stepLabel = await load('de');
    expect(stepLabel({ kind, label })).toBe(want);
  });
});
