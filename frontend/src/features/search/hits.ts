import type { SearchHit } from '../../lib/api/types.gen';
import { visible } from '../../lib/text/visible';

/** A piece of a snippet; on: it was searched for. */
export interface Piece {
  text: string;
  on: boolean;
}

/** The snippet in pieces. Marks that do not fit the text are left out: they came over a wire. */
export function pieces(text: string, marks: readonly (readonly number[])[] | null): Piece[] {
  const out: Piece[] = [];
  let from = 0;
  for (const [begin = 0, end = 0] of marks ?? []) {
    if (begin < from || end <= begin || end > text.length) continue;
    if (begin > from) out.push({ text: visible(text.slice(from, begin)), on: false });
    out.push({ text: visible(text.slice(begin, end)), on: true });
    from = end;
  }
  if (from < text.length) out.push({ text: visible(text.slice(from)), on: false });
  return out;
}

/** What holds a hit: a chat of ours, or a session that is none. */
export function placeId(h: SearchHit): string {
  return h.chatId ? `chat:${h.chatId}` : `session:${h.key?.harness ?? ''}/${h.key?.id ?? ''}`;
}

/** One line of the list of results. */
export type Line = { kind: 'title'; id: string; chatId: string; title: string; harness: string; cwd: string; at: number; archived: boolean } | { kind: 'place'; id: string; hit: SearchHit } | { kind: 'hit'; id: string; hit: SearchHit };

/** Hits in their order; a place is named where the one before was another. */
export function lines(hits: readonly SearchHit[]): Line[] {
  const out: Line[] = [];
  let last = '';
  hits.forEach((hit, i) => {
    const place = placeId(hit);
    if (place !== last) out.push({ kind: 'place', id: `p${i}`, hit });
    last = place;
    out.push({ kind: 'hit', id: `h${i}`, hit });
  });
  return out;
}

const WORDS: Record<string, string> = { user: 'You', text: 'Agent', reasoning: 'Thinking', plan: 'Plan', subagent: 'Sub-agent', error: 'Error' };
const TOOLS: Record<string, string> = { execute: 'Command', edit: 'Edit', write: 'Write', read: 'Read', search: 'Search', fetch: 'Fetch', mcp: 'Tool', task: 'Task', question: 'Question' };

/** Who said it, or what did it. */
export function who(h: SearchHit): string {
  return h.type === 'tool' ? (TOOLS[h.kind ?? ''] ?? 'Tool') : (WORDS[h.type] ?? '');
}
