import type { Citation } from './api';

/** A document that an answer cites, with its citations in the order of their numbers. */
export type CitedDocument = { document: Citation; citations: Citation[] };

/** The cited documents in the order of their first citations. */
export function citedDocuments(citations: readonly Citation[]): CitedDocument[] {
  const out = new Map<string, CitedDocument>();
  for (const c of [...citations].sort((a, b) => a.n - b.n)) {
    const found = out.get(c.documentId);
    if (found) found.citations.push(c);
    else out.set(c.documentId, { document: c, citations: [c] });
  }
  return [...out.values()];
}
