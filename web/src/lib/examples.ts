import { api, body, type Agent } from './api';

/** Questions suggested from the documents of an agent without own examples. Lists of agents leave them out. */
export async function suggestedExamples(agent: Agent): Promise<string[]> {
  if (agent.suggestedExamples) return agent.suggestedExamples;
  const reply = await body(api.GET('/api/agents/{agentId}', { params: { path: { agentId: agent.id } } }));
  return reply.agent.suggestedExamples ?? [];
}

/** The example questions that an empty chat shows: the agent's own, else the suggested ones. */
export const examplesOf = async (agent: Agent): Promise<string[]> =>
  agent.examples?.length ? agent.examples : suggestedExamples(agent);
