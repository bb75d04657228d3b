import { route } from './router.svelte';

const positions = new Map<string, number>();

/**
 * Keeps the scroll position of an element for each history entry and restores it. Content may load late, so it retries
 * as the element grows, until the position is reached or the user scrolls.
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
    if (el.scrollTop > 0) note(); // the last scroll event may be pending; a removed element reports 0
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
