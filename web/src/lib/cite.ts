/** The fields of a reference; cards, citations and documents have them. */
export type Reference = {
  title: string;
  authors: readonly string[];
  year?: number;
  venue?: string;
  type?: string;
  doi?: string;
  url?: string;
};

export type Style = 'bibtex' | 'ris' | 'csl' | 'apa';
export const styles: readonly Style[] = ['bibtex', 'ris', 'csl', 'apa'];

type Name = { family: string; given: string };

/** Splits a name. Particles stay with the family name: "van Beethoven". */
export function nameOf(full: string): Name {
  const comma = full.indexOf(',');
  if (comma > 0) return { family: full.slice(0, comma).trim(), given: full.slice(comma + 1).trim() };
  const words = full.trim().split(/\s+/);
  let at = words.length - 1;
  while (at > 1 && /^(van|von|der|den|de|la|le|du|di|da|dos|ter|ten|zu|zur|af|al)$/.test(words[at - 1] ?? '')) at--;
  return { family: words.slice(at).join(' '), given: words.slice(0, at).join(' ') };
}

const initials = (given: string) =>
  given
    .split(/\s+/)
    .filter(Boolean)
    .map((w) =>
      w
        .split('-')
        .map((p) => `${Array.from(p)[0] ?? ''}.`)
        .join('-'),
    )
    .join(' ');

const isBook = (r: Reference) => r.type === 'book';
const link = (r: Reference) => (r.doi ? `https://doi.org/${r.doi}` : r.url);

/** A BibTeX key: first author, year, first significant word of the title. */
function keyOf(r: Reference): string {
  const plain = (s: string) =>
    s
      .normalize('NFD')
      .replace(/[^a-zA-Z0-9]/g, '')
      .toLowerCase();
  const word = r.title.split(/\s+/).find((w) => w.length > 3 && !/^(the|with|from|into|over)$/i.test(w)) ?? r.title;
  return [plain(nameOf(r.authors[0] ?? 'anonymous').family), r.year ?? '', plain(word)].join('');
}

const texEscape = (s: string) =>
  s
    .replace(/[\\{}]/g, (c) => (c === '\\' ? '\\textbackslash{}' : `\\${c}`))
    .replace(/[&%$#_]/g, '\\$&')
    .replace(/~/g, '\\textasciitilde{}')
    .replace(/\^/g, '\\textasciicircum{}');

function bibtex(r: Reference): string {
  const fields: [string, string | undefined][] = [
    ['title', `{${texEscape(r.title)}}`],
    [
      'author',
      r.authors
        .map((a) => {
          const n = nameOf(a);
          return texEscape(n.given ? `${n.family}, ${n.given}` : n.family);
        })
        .join(' and ') || undefined,
    ],
    ['year', r.year?.toString()],
    [isBook(r) ? 'publisher' : 'journal', r.venue && texEscape(r.venue)],
    ['doi', r.doi],
    ['url', r.doi ? undefined : r.url],
  ];
  const kind = isBook(r) ? 'book' : r.venue ? 'article' : 'misc';
  return `@${kind}{${keyOf(r)},\n${fields
    .filter(([, v]) => v)
    .map(([k, v]) => `  ${k} = {${v}}`)
    .join(',\n')}\n}\n`;
}

function ris(r: Reference): string {
  const line = (tag: string, value?: string | number) =>
    value === undefined || value === '' ? '' : `${tag}  - ${String(value).replace(/\s+/g, ' ')}\r\n`;
  return (
    line('TY', isBook(r) ? 'BOOK' : r.venue ? 'JOUR' : 'GEN') +
    line('TI', r.title) +
    r.authors
      .map((a) => {
        const n = nameOf(a);
        return line('AU', n.given ? `${n.family}, ${n.given}` : n.family);
      })
      .join('') +
    line('PY', r.year) +
    line(isBook(r) ? 'PB' : 'JO', r.venue) +
    line('DO', r.doi) +
    line('UR', link(r)) +
    'ER  - \r\n'
  );
}

function csl(r: Reference): string {
  const item = {
    id: keyOf(r),
    type: isBook(r) ? 'book' : r.venue ? 'article-journal' : 'document',
    title: r.title,
    author: r.authors.map(nameOf).map((n) => (n.given ? n : { literal: n.family })),
    issued: r.year ? { 'date-parts': [[r.year]] } : undefined,
    [isBook(r) ? 'publisher' : 'container-title']: r.venue,
    DOI: r.doi,
    URL: link(r),
  };
  return `${JSON.stringify([item], null, 2)}\n`;
}

/** A reference in APA style, 7th edition, without italics. */
function apa(r: Reference): string {
  const names = r.authors.map(nameOf).map((n) => (n.given ? `${n.family}, ${initials(n.given)}` : n.family));
  const listed =
    names.length > 20
      ? [...names.slice(0, 19), `… ${names.at(-1)}`].join(', ')
      : names.length > 1
        ? `${names.slice(0, -1).join(', ')}, & ${names.at(-1)}`
        : names[0];
  const stop = (s: string) => (/[.?!]$/.test(s) ? s : `${s}.`);
  const when = `(${r.year ?? 'n.d.'}).`;
  const parts = listed ? [stop(listed), when, stop(r.title)] : [stop(r.title), when];
  return [...parts, r.venue && stop(r.venue), link(r)].filter(Boolean).join(' ');
}

const writers: Record<Style, (r: Reference) => string> = { bibtex, ris, csl, apa };

export const reference = (r: Reference, style: Style): string => writers[style](r);

/** Several references as one file. */
export function references(list: readonly Reference[], style: Style): string {
  if (style === 'csl')
    return `${JSON.stringify(
      list.flatMap((r) => JSON.parse(csl(r)) as unknown[]),
      null,
      2,
    )}\n`;
  return list.map((r) => reference(r, style)).join('\n');
}
