import { parseUnified, type DiffLine } from '../chat/diff';

/** One line of what is shown of a file: a heading, a note, a changed line, or in the split view two beside each other. */
export type Shown =
  | { kind: 'head'; text: string; at: number; turn: number }
  | { kind: 'note'; text: string; itemId?: string; field?: string; size?: number }
  | { kind: 'line'; line: DiffLine }
  | { kind: 'pair'; left: DiffLine | null; right: DiffLine | null };

export interface Part {
  diff: string;
  head?: { text: string; at: number; turn: number };
  note?: string;
  cut?: { itemId: string; field: string; size: number };
}

/** Everything of a file, one after the other. */
export function shownOf(parts: readonly Part[], split: boolean): Shown[] {
  const out: Shown[] = [];
  for (const p of parts) {
    if (p.head) out.push({ kind: 'head', ...p.head });
    if (p.note) out.push({ kind: 'note', text: p.note });
    const lines = p.diff ? parseUnified(p.diff) : [];
    if (split) out.push(...pairs(lines));
    else for (const line of lines) out.push({ kind: 'line', line });
    if (p.cut) out.push({ kind: 'note', text: 'The rest is left out here', ...p.cut });
  }
  return out;
}

/** Removed lines at the left, added ones at the right, as far as they stand beside each other. */
export function pairs(lines: readonly DiffLine[]): Shown[] {
  const out: Shown[] = [];
  for (let i = 0; i < lines.length; ) {
    const l = lines[i]!;
    if (l.kind === '@') {
      out.push({ kind: 'line', line: l });
      i++;
      continue;
    }
    if (l.kind === ' ') {
      out.push({ kind: 'pair', left: l, right: l });
      i++;
      continue;
    }
    const removed: DiffLine[] = [];
    const added: DiffLine[] = [];
    while (lines[i]?.kind === '-') removed.push(lines[i++]!);
    while (lines[i]?.kind === '+') added.push(lines[i++]!);
    for (let j = 0; j < Math.max(removed.length, added.length); j++) out.push({ kind: 'pair', left: removed[j] ?? null, right: added[j] ?? null });
  }
  return out;
}
