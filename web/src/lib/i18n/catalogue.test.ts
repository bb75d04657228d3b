import { describe, expect, it } from 'vitest';
import * as german from './all.de';
import * as english from './all.en';
import * as spanish from './all.es';
import * as french from './all.fr';
import type { Catalogues } from './catalogues';
import type { Text } from './en';
import shared from './shared.json'; // texts that a language has in common with English

const forms = (text: Text): string[] => (typeof text === 'string' ? [text] : [text.one, text.other]);
const slots = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();
const isWords = (text: Text) => forms(text).some((form) => /\p{L}{4}/u.test(form.replaceAll(/\{\w+\}/g, '')));

describe.each<[keyof typeof shared, Catalogues]>([
  ['de', german],
  ['es', spanish],
  ['fr', french],
])('%s', (language, catalogues) => {
  it('has the English subjects', () => expect(Object.keys(catalogues)).toEqual(Object.keys(english)));

  describe.each(Object.keys(english) as (keyof Catalogues)[])('%s', (subject) => {
    const texts: Record<string, Text> = catalogues[subject];
    const originals: Record<string, Text> = english[subject];

    it('has the English keys in the same order', () => expect(Object.keys(texts)).toEqual(Object.keys(originals)));

    it('fills in the same values', () => {
      for (const [key, original] of Object.entries(originals)) {
        const text = texts[key]!;
        expect(typeof text, key).toBe(typeof original);
        expect(slots(forms(text).at(-1)!), key).toEqual(slots(forms(original).at(-1)!));
      }
    });

    it('is translated', () => {
      const same = Object.keys(originals).filter(
        (key) => isWords(originals[key]!) && JSON.stringify(texts[key]) === JSON.stringify(originals[key]),
      );
      expect(same.map((key) => forms(texts[key]!)[0]).filter((text) => !shared[language].includes(text!))).toEqual([]);
    });
  });
});
