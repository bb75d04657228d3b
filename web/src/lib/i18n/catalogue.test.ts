import { describe, expect, it } from 'vitest';
import { de } from './de';
import { en, type Key, type Text } from './en';

const values = (text: Text): string => (typeof text === 'string' ? text : text.other);
const slots = (text: Text) => (values(text).match(/\{\w+\}/g) ?? []).sort();

describe('the German catalogue', () => {
  it('has every key in the order of the English one', () => expect(Object.keys(de)).toEqual(Object.keys(en)));
  it('fills in the same values', () => {
    for (const key of Object.keys(en) as Key[]) expect(slots(de[key]), key).toEqual(slots(en[key]));
  });
});
