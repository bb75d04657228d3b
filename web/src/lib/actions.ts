import { api, ApiError, idempotencyKey, type MessageAction } from './api';

/** The operation that undoes an action, or undefined if the action lacks what the operation needs. */
export function undoOf(agentId: string, a: MessageAction): (() => Promise<void>) | undefined {
  const path = { agentId };
  const { id, text, card } = a;
  switch (a.undo) {
    case 'deleteMemory':
      return id
        ? () =>
            ignoreMissing(
              api.DELETE('/api/agents/{agentId}/memories/{memoryId}', { params: { path: { ...path, memoryId: id } } }),
            )
        : undefined;
    case 'deleteFavourite':
      return id
        ? () =>
            ignoreMissing(
              api.DELETE('/api/agents/{agentId}/favourites/{cardId}', { params: { path: { ...path, cardId: id } } }),
            )
        : undefined;
    case 'addMemory':
      return text
        ? async () => {
            await api.POST('/api/agents/{agentId}/memories', {
              params: { path, header: idempotencyKey() },
              body: { text },
            });
          }
        : undefined;
    case 'saveFavourite':
      return card
        ? async () => {
            await api.POST('/api/agents/{agentId}/favourites', {
              params: { path, header: idempotencyKey() },
              body: { card },
            });
          }
        : undefined;
    default:
      return undefined;
  }
}

/** A memory or favourite that is already deleted needs no undo. */
async function ignoreMissing(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (e) {
    if (!(e instanceof ApiError) || e.code !== 'not_found') throw e;
  }
}

const key = (messageId: string, index: number) => `carrel.undone.${messageId}.${index}`;

/** Reports whether an action was undone in this browser session. The API does not record it. */
export function wasUndone(messageId: string, index: number): boolean {
  try {
    return sessionStorage.getItem(key(messageId, index)) !== null;
  } catch {
    return false;
  }
}

export function keepUndone(messageId: string, index: number): void {
  try {
    sessionStorage.setItem(key(messageId, index), '1');
  } catch {
    // Without storage the screen shows it until the page is closed.
  }
}
