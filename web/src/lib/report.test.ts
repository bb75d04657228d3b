import { describe, expect, it } from 'vitest';
import { headingsOf, isReport, sectionsOf } from './report';

describe('the headings of an answer', () => {
  it('are read without markup, and not from code', () => {
    const text = '# One **two** [1]\n\ntext # no\n```sh\n# comment\n```\n## `x` ##\n#no\n    # code\n### Three';
    expect(headingsOf(text)).toEqual([
      { level: 1, text: 'One two' },
      { level: 2, text: 'x' },
      { level: 3, text: 'Three' },
    ]);
    expect(isReport(text)).toBe(true);
    expect(isReport('# One\n\n# Two')).toBe(false);
  });
});

describe('the sections of a running turn', () => {
  const step = (label: string) => ({ label });
  it('follow the labels of its steps', () => {
    expect(sectionsOf([step('Searching')])).toEqual([]);
    const steps = [
      step('Outline: 3 sections: Origins; Limits: a view; Uses'),
      step('Section 1 of 3: Origins: writing · 4 s'),
      step('Section 2 of 3: Limits: a view: searching'),
    ];
    expect(sectionsOf(steps)).toEqual([
      { title: 'Origins', state: 'done' },
      { title: 'Limits: a view', state: 'now' },
      { title: 'Uses', state: 'open' },
    ]);
  });
  it('have numbers if their titles are ambiguous', () => {
    expect(sectionsOf([step('Outline: 2 sections: A; b; C'), step('Section 1 of 2: A; b: writing')])).toEqual([
      { title: 'A; b', state: 'now' },
      { title: '2', state: 'open' },
    ]);
  });
});
