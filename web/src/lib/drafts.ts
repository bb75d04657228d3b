import { forget, recall, remember } from './prefs.svelte';

/** What was typed in a thread and not sent, also over a reload. A new chat has the draft of its agent. */
export const draftOf = (place: string): string => recall(`draft.${place}`) ?? '';

export function keepDraft(place: string, text: string): void {
  if (text.trim()) remember(`draft.${place}`, text);
  else forget(`draft.${place}`);
}
