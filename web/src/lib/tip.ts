/**
 * Places an element of the top layer below the last line of an anchor, or above its first line if there is no space.
 * Above, its bottom is fixed, so that a change of its height does not cover the anchor.
 */
export function placeTip(tip: HTMLElement, anchor: HTMLElement): void {
  const lines = [...anchor.getClientRects()];
  const last = lines.at(-1) ?? anchor.getBoundingClientRect();
  const first = lines[0] ?? last;
  const box = tip.getBoundingClientRect();
  const below = last.bottom + 6 + box.height < innerHeight || first.top < box.height + 14;
  tip.style.top = below ? `${Math.max(8, Math.min(last.bottom + 6, innerHeight - box.height - 8))}px` : 'auto';
  tip.style.bottom = below ? 'auto' : `${innerHeight - first.top + 6}px`;
  tip.style.left = `${Math.max(8, Math.min(last.left, innerWidth - box.width - 8))}px`;
}
