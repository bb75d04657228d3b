import { forget, recall, remember } from './prefs.svelte';
import type { Marking } from './sentences';

const stored = recall('marks');

/** Which sentences are marked in answers: a preference of this device. */
export const marking = $state<{ choice: Marking }>({
  choice: stored === 'all' || stored === 'none' ? stored : 'problems',
});

export function setMarking(choice: Marking): void {
  marking.choice = choice;
  if (choice === 'problems') forget('marks');
  else remember('marks', choice);
}
