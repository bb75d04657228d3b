import { expect, test } from 'vitest';
import { webLink } from './link';

test('only web addresses become links', () => {
  expect(webLink('https://example.org/a')).toBe('https://example.org/a');
  expect(webLink(undefined, '', 'http://example.org')).toBe('http://example.org');
  for (const bad of [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    'java\tscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://example.org/x',
    '/relative',
    'nonsense',
  ])
    expect(webLink(bad), bad).toBeUndefined();
  expect(webLink('javascript:alert(1)', 'https://example.org')).toBe('https://example.org');
});
