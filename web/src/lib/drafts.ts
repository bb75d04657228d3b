import { forget, recall, remember } from './prefs.svelte';

/** The unsent message of a thread, kept across reloads. A new chat uses the agent's draft. */
export const draftOf = (place: string): string => recall(`draft.${place}`) ?? '';

export function keepDraft(place: string, text: string): void {
  if (text.trim()) remember(`draft.${place}`, text);
  else forget(`draft.${place}`);
}
