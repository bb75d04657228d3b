/** Returns the list with one element moved. A target outside the list leaves it as it is. */
export function move<T>(list: T[], from: number, to: number): T[] {
  if (to < 0 || to >= list.length) return list;
  const next = list.toSpliced(from, 1);
  next.splice(to, 0, list[from]!);
  return next;
}
