import { api, body, type Thread } from './api';

/** A found thread with its agent's id, its title and the place that contains the words. */
export type FoundThread = Thread;

/** Finds threads with all agents by words of their titles and messages, the latest first. */
export async function findThreads(words: string, limit = 20): Promise<{ list: FoundThread[]; more: boolean }> {
  const page = await body(api.GET('/api/threads', { params: { query: { q: words, limit } } }));
  return { list: page.threads, more: !!page.nextCursor };
}

/** Splits a text into parts, those that contain one of the words marked. */
export function markWords(text: string, words: string): { text: string; hit: boolean }[] {
  const parts = words
    .split(/\s+/)
    .filter(Boolean)
    .map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (!parts.length) return [{ text, hit: false }];
  return text
    .split(new RegExp(`(${parts.join('|')})`, 'gi'))
    .map((part, i) => ({ text: part, hit: i % 2 === 1 }))
    .filter((part) => part.text);
}

/** The tags in a text that separates them with commas, each once. */
export function tagsOf(text: string): string[] {
  const seen = new Map(
    text
      .split(',')
      .map((x) => x.trim())
      .filter(Boolean)
      .map((x) => [x.toLowerCase(), x]),
  );
  return [...seen.values()];
}
