import { describe, expect, it } from 'vitest';
import { de as checkDe } from './check.de';
import { en as checkEn } from './check.en';
import { de } from './de';
import { en, type Text } from './en';
import { de as favouritesDe } from './favourites.de';
import { en as favouritesEn } from './favourites.en';
import { de as libraryDe } from './library.de';
import { en as libraryEn } from './library.en';
import { de as manageDe } from './manage.de';
import { en as manageEn } from './manage.en';
import { de as readerDe } from './reader.de';
import { en as readerEn } from './reader.en';
import { de as zoteroDe } from './zotero.de';
import { en as zoteroEn } from './zotero.en';

const values = (text: Text): string => (typeof text === 'string' ? text : text.other);
const slots = (text: Text) => (values(text).match(/\{\w+\}/g) ?? []).sort();

describe.each<[string, Record<string, Text>, Record<string, Text>]>([
  ['the German catalogue', de, en],
  ['the German catalogue of accounts and the installation', manageDe, manageEn],
  ['the German catalogue of checks', checkDe, checkEn],
  ['the German catalogue of the reader', readerDe, readerEn],
  ['the German catalogue of favourites', favouritesDe, favouritesEn],
  ['the German catalogue of documents and uploads', libraryDe, libraryEn],
  ['the German catalogue of Zotero', zoteroDe, zoteroEn],
])('%s', (_, german, english) => {
  it('has the English keys in the same order', () => expect(Object.keys(german)).toEqual(Object.keys(english)));
  it('fills in the same values', () => {
    for (const key of Object.keys(english)) expect(slots(german[key]!), key).toEqual(slots(english[key]!));
  });
});
