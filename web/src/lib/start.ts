import type { Agent } from './api';
import { kinds } from './kinds';
import type { components } from './schema';

type Source = components['schemas']['Source'];

/** The steps from a new account to its first answer, in order. */
export const steps = ['name', 'documents', 'import', 'question'] as const;
export type Step = (typeof steps)[number];

const isLive = (kind: string): boolean => kinds[kind]?.mode === 'live';
const isBusy = (source: Source): boolean =>
  source.import?.state === 'queued' || source.import?.state === 'running' || source.status === 'indexing';

/** Reports whether an agent has nothing to search yet and the user may change that. */
export const isEmpty = (agent: Agent): boolean =>
  agent.capabilities.includes('manage') && agent.sources.every((x) => x.documents === 0 && !isLive(x.kind));

/**
 * The step of an agent. It follows from the state of its sources, so that the steps can be left and resumed, in another
 * browser too. `uploading` is whether this browser sends files.
 */
export function stepOf(agent: Agent | undefined, sources: readonly Source[], uploading: boolean): Step {
  if (!agent) return 'name';
  if (uploading || sources.some(isBusy)) return 'import';
  return sources.some((x) => x.documents > 0 || isLive(x.kind)) ? 'question' : 'documents';
}
