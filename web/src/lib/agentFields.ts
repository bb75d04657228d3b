import type { Agent } from './api';

/** The fields of an agent that its form edits. */
export type AgentFields = Pick<Agent, 'name' | 'description' | 'instructions' | 'model'> &
  Required<Pick<Agent, 'policy' | 'answerLength' | 'language' | 'opening' | 'examples'>>;

/** The editable fields of an agent, or the defaults of a new one. */
export const fieldsOf = (agent?: Agent): AgentFields => ({
  name: agent?.name ?? '',
  description: agent?.description ?? '',
  instructions: agent?.instructions ?? '',
  model: agent?.model ?? '',
  policy: agent?.policy ?? 'marked',
  answerLength: agent?.answerLength ?? 'normal',
  language: agent?.language ?? '',
  opening: agent?.opening ?? '',
  examples: [...(agent?.examples ?? [])],
});
