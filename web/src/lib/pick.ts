/** A file to upload. `path` is its path below the folder that was chosen or dropped, or its name. */
export type PickedFile = { path: string; file: File };

/** The chosen files. `leftOut` counts hidden files and files of the operating system. */
export type Selection = { files: PickedFile[]; leftOut: number };

const SYSTEM_FILES = new Set(['__MACOSX', 'Thumbs.db', 'desktop.ini']);

/** Reports whether a path is a hidden file, a file of the operating system, or in a folder of such files. */
export const isSystemFile = (path: string): boolean =>
  path.split('/').some((part) => part.startsWith('.') || SYSTEM_FILES.has(part));

/** Sorts by path, with numbers in numeric order. */
export const byPath = (a: { path: string }, b: { path: string }): number =>
  a.path.localeCompare(b.path, undefined, { numeric: true });

/** The files of a file chooser or of the clipboard. */
export function fromList(list: Iterable<File>): Selection {
  const all = [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
  const files = all.filter((f) => !isSystemFile(f.path)).sort(byPath);
  return { files, leftOut: all.length - files.length };
}

/**
 * The dropped files and folders. It must be called within the event: afterwards the browser has cleared the list. A
 * file that is not on the disk, such as an image of another page, has no entry.
 */
export const dropped = (data: DataTransfer | null): (FileSystemEntry | File)[] =>
  [...(data?.items ?? [])].map((item) => item.webkitGetAsEntry() ?? item.getAsFile()).filter((entry) => entry !== null);

/** The dropped files, including those in folders. */
export async function fromDropped(entries: readonly (FileSystemEntry | File)[]): Promise<Selection> {
  const found: PickedFile[] = [];
  let leftOut = 0;
  const visit = async (entry: FileSystemEntry): Promise<void> => {
    const path = entry.fullPath.replace(/^\//, '');
    if (isSystemFile(path)) leftOut++;
    else if (entry.isDirectory)
      for (const child of await childrenOf(entry as FileSystemDirectoryEntry)) await visit(child);
    else found.push({ path, file: await fileOf(entry as FileSystemFileEntry) });
  };
  for (const entry of entries)
    if (entry instanceof File) found.push({ path: entry.name, file: entry });
    else await visit(entry);
  return { files: found.sort(byPath), leftOut };
}

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));

/** All entries of a folder. One call of readEntries returns at most 100; an empty result is the end. */
async function childrenOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return all;
    all.push(...some);
  }
}
