import { beforeEach, describe, expect, it, vi } from 'vitest';

/** Loads the module in a page at `url` whose server has the base path `base`. */
async function load(url: string, base = '') {
  vi.resetModules();
  vi.stubGlobal('location', new URL(url));
  vi.stubGlobal('document', { documentElement: {}, cookie: '', querySelector: () => ({ content: base }) });
  return import('./index.svelte');
}

beforeEach(() => {
  const stored = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
  });
  vi.stubGlobal('navigator', { languages: ['en-GB'] });
});

describe('the language cookie', () => {
  it('holds the chosen language', async () => {
    const { setLanguage } = await load('http://localhost/');
    await setLanguage('de', true);
    expect(document.cookie).toBe('carrel-language=de; path=/; max-age=31536000; samesite=lax');
  });

  it('is secure and limited to the base path under https', async () => {
    const { setLanguage } = await load('https://example.org/carrel/', '/carrel');
    await setLanguage('en', true);
    expect(document.cookie).toBe('carrel-language=en; path=/carrel/; max-age=31536000; samesite=lax; secure');
  });

  it('is renewed at start for a stored choice', async () => {
    localStorage.setItem('carrel.language', 'de');
    const { preferred, setLanguage } = await load('http://localhost/');
    await setLanguage(preferred());
    expect(document.cookie).toContain('carrel-language=de;');
  });

  it('is not set without a choice, so that the server follows the browser', async () => {
    const { preferred, setLanguage } = await load('http://localhost/');
    await setLanguage(preferred());
    expect(document.cookie).toBe('');
  });
});
