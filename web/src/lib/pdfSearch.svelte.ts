import type { Pdf } from './pdf';
import { findAll, type Range } from './pdfText';

export type Match = Range & { page: number };

const MAX_MATCHES = 1000;

/** A search in an open PDF file. */
export class PdfSearch {
  matches = $state.raw<Match[]>([]);
  /** The index of the current match, or -1. */
  at = $state(-1);
  searching = $state(false);
  #run = 0;

  /** Searches all pages. The first match on or after page `from` becomes the current one. */
  async find(pdf: Pdf, query: string, from: number): Promise<void> {
    const run = ++this.#run;
    this.matches = [];
    this.at = -1;
    this.searching = !!query.trim();
    if (!this.searching) return;
    for (let page = 1; page <= pdf.pages && this.matches.length < MAX_MATCHES; page++) {
      const text = await pdf.text(page);
      if (run !== this.#run) return;
      const found = findAll(text.folded, query, MAX_MATCHES - this.matches.length);
      if (!found.length) continue;
      this.matches = [...this.matches, ...found.map((m) => ({ ...m, page }))];
      if (this.at < 0 && page >= from) this.at = this.matches.length - found.length;
    }
    if (this.at < 0 && this.matches.length) this.at = 0;
    this.searching = false;
  }

  /** Moves to the next match (1) or the previous one (-1), around the ends. */
  step(by: number): void {
    const n = this.matches.length;
    if (n) this.at = (this.at + by + n) % n;
  }

  get current(): Match | undefined {
    return this.matches[this.at];
  }

  clear(): void {
    this.#run++;
    this.matches = [];
    this.at = -1;
    this.searching = false;
  }
}
