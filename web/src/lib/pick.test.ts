import { describe, expect, it } from 'vitest';
import { dropped, fromDropped, fromList, isSystemFile } from './pick';

const picked = (path: string): File =>
  Object.defineProperty(new File(['x'], path.split('/').at(-1)!), 'webkitRelativePath', { value: path });

const file = (fullPath: string) =>
  ({
    isDirectory: false,
    fullPath,
    file: (done: FileCallback) => done(new File(['x'], fullPath.split('/').at(-1)!)),
  }) as unknown as FileSystemEntry;

/** A folder whose reader returns at most 100 entries a call, like that of browsers. */
const folder = (fullPath: string, children: FileSystemEntry[]) =>
  ({
    isDirectory: true,
    fullPath,
    createReader: () => {
      const rest = [...children];
      return { readEntries: (done: FileSystemEntriesCallback) => done(rest.splice(0, 100)) };
    },
  }) as unknown as FileSystemEntry;

const paths = (selection: { files: { path: string }[] }) => selection.files.map((f) => f.path);

describe('chosen files', () => {
  it('keep their paths below the folder and are sorted', () =>
    expect(paths(fromList([picked('papers/10.pdf'), picked('papers/9.pdf'), new File([], 'b.pdf')]))).toEqual([
      'b.pdf',
      'papers/9.pdf',
      'papers/10.pdf',
    ]));
  it('are counted when they are hidden or belong to the system', () => {
    const junk = ['papers/.DS_Store', 'papers/.git/config', '__MACOSX/a.pdf', 'papers/Thumbs.db'];
    expect(junk.filter((path) => !isSystemFile(path))).toEqual([]);
    expect(isSystemFile('papers/a.b.pdf')).toBe(false);
    const got = fromList([...junk.map(picked), picked('papers/a.pdf')]);
    expect([paths(got), got.leftOut]).toEqual([['papers/a.pdf'], 4]);
  });
});

describe('dropped entries', () => {
  it('include all files of folders with more than 100 entries', async () => {
    const many = Array.from({ length: 250 }, (_, i) => file(`/papers/${i}.txt`));
    const got = await fromDropped([folder('/papers', [...many, folder('/papers/sub', [file('/papers/sub/a.txt')])])]);
    expect(got.files.length).toBe(251);
    expect(paths(got).at(-1)).toBe('papers/sub/a.txt');
  });
  it('leave out hidden folders without reading them', async () => {
    const got = await fromDropped([
      folder('/papers', [folder('/papers/.git', [file('/papers/.git/config')]), file('/papers/a.txt')]),
      file('/.DS_Store'),
    ]);
    expect([paths(got), got.leftOut]).toEqual([['papers/a.txt'], 2]);
  });
  it('include a file that is not on the disk, but no text', async () => {
    const items = [
      { webkitGetAsEntry: () => null, getAsFile: () => null },
      { webkitGetAsEntry: () => null, getAsFile: () => new File([], 'image.pdf') },
      { webkitGetAsEntry: () => file('/a.txt') },
    ];
    const got = await fromDropped(dropped({ items } as unknown as DataTransfer));
    expect(paths(got)).toEqual(['a.txt', 'image.pdf']);
  });
});
