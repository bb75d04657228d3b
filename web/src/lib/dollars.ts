/** The value of a dollar input; empty is null or undefined. */
export type Dollars = number | null | undefined;

/** Converts dollars to millionths of a dollar. */
export const micros = (dollars: Dollars): number | undefined =>
  dollars === null || dollars === undefined ? undefined : Math.round(dollars * 1e6);

/** Converts millionths of a dollar to dollars. */
export const dollars = (amount: number | null | undefined): Dollars =>
  amount === null || amount === undefined ? undefined : amount / 1e6;
