import { api, body } from './api';

/** The documents and sources that a question is limited to. */
export interface Scope {
  documentIds?: string[];
  sourceIds?: string[];
}

/** The most documents that a question can be limited to. */
export const MAX_DOCUMENTS = 50;

/** The documents in the query string of a chat. */
export const scopeOf = (q: URLSearchParams): string[] => (q.get('docs') ?? '').split(',').filter((id) => id !== '');

const titles = new Map<string, Promise<string>>();

/** The title of a document, '' if there is no such document. */
export function titleOf(agentId: string, documentId: string): Promise<string> {
  let title = titles.get(documentId);
  if (!title) {
    title = body(
      api.GET('/api/agents/{agentId}/documents/{documentId}', { params: { path: { agentId, documentId } } }),
    ).then(
      (reply) => reply.document.title,
      () => '',
    );
    titles.set(documentId, title);
  }
  return title;
}
