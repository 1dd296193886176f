import type { Client } from '../../lib/api/client';
import type { ChangedFile, GitFile } from '../../lib/api/types.gen';
import type { FileRow } from './FileList.svelte';
import type { Part } from './lines';

/** More than this many pieces of one file are not fetched; the rest is said. */
const MAX_PARTS = 400;

export const changedRow = (f: ChangedFile): FileRow => ({ id: f.path, path: f.rel || f.path, word: f.created ? 'new' : 'edited', added: f.added, removed: f.removed, unknown: f.unknown });

export const gitRow = (f: GitFile): FileRow => ({ id: f.path, path: f.path, from: f.from, word: f.kind === 'untracked' || f.kind === 'added' ? 'new' : f.kind, added: f.added, removed: f.removed, binary: f.binary });

/** What the agent did to one file, piece after piece. */
export async function agentParts(client: Client, chatId: string, turn: number, path: string): Promise<Part[]> {
  const parts: Part[] = [];
  let cursor = '';
  do {
    const r = await client.call('changes.diff', { chatId, turn: turn || undefined, path, cursor: cursor || undefined });
    for (const p of r.pieces ?? []) parts.push({ diff: p.diff ?? '', head: { text: p.title || 'Change', at: p.at, turn: p.turn }, note: p.why, cut: p.cut ? { itemId: p.itemId, field: p.field || 'diff', size: p.cut } : undefined });
    cursor = r.next ?? '';
  } while (cursor && parts.length < MAX_PARTS);
  if (cursor) parts.push({ diff: '', note: 'There are more pieces than are shown here. Choose a turn to see its own.' });
  return parts;
}

export async function gitParts(client: Client, chatId: string, f: GitFile): Promise<Part[]> {
  let diff = '';
  let offset = 0;
  let why = '';
  do {
    const r = await client.call('changes.gitDiff', { chatId, path: f.path, from: f.from, kind: f.kind, offset: offset || undefined });
    diff += r.diff;
    why = r.why ?? '';
    offset = r.next ?? 0;
  } while (offset);
  return [{ diff, note: why }];
}
