/** What a field for dollars holds: a number, or nothing. */
export type Dollars = number | null | undefined;

/** Millionths of a dollar of what was typed; nothing stays nothing. */
export const micros = (dollars: Dollars): number | undefined =>
  dollars === null || dollars === undefined ? undefined : Math.round(dollars * 1e6);

/** What to put into a field for an amount that may not be there. */
export const dollars = (amount: number | null | undefined): Dollars =>
  amount === null || amount === undefined ? undefined : amount / 1e6;
