import { route } from './router.svelte';

const positions = new Map<string, number>();

/**
 * Remembers how far an element is scrolled for each entry of the history, and goes back there. Content may come late, so it
 * tries again as the element grows, until it is there or the reader scrolls.
 */
export function keepScroll(el: HTMLElement): () => void {
  const entry = route.entry;
  let wanted = positions.get(entry) ?? 0;
  const settle = () => {
    if (wanted > 0) {
      el.scrollTop = wanted;
      if (el.scrollTop >= wanted - 1) wanted = 0;
    }
  };
  const grown = new ResizeObserver(settle);
  for (const child of el.children) grown.observe(child);
  const note = () => {
    if (wanted === 0) positions.set(entry, el.scrollTop);
  };
  const stop = () => {
    wanted = 0;
  };
  el.addEventListener('scroll', note, { passive: true });
  el.addEventListener('wheel', stop, { passive: true });
  el.addEventListener('touchmove', stop, { passive: true });
  el.addEventListener('keydown', stop);
  settle();
  return () => {
    if (el.scrollTop > 0) note(); // the last scroll may not have been told yet; an element that is gone says 0
    grown.disconnect();
    for (const [type, fn] of [
      ['scroll', note],
      ['wheel', stop],
      ['touchmove', stop],
      ['keydown', stop],
    ] as const)
      el.removeEventListener(type, fn);
  };
}
