import type { Row } from '../../lib/api/types.gen';
import type { Entry, TimelineRow } from './timeline';
import { toolView } from './tool';

/** What is searched of a row: all that it shows, open or folded. */
export interface Searched extends TimelineRow {
  text: string;
  output: string;
}

/** One place where the text was found: the nth in its row, from 0. */
export interface Hit {
  id: string;
  nth: number;
}

/** More than this is no longer stepped through. */
export const MAX_HITS = 2000;

export function searchText(r: Searched): string {
  const row: Row = r.row;
  const parts = [r.text];
  if (row.type === 'tool') {
    const d = row.detail;
    const v = toolView(row);
    parts.push(v.verb, v.subject, d?.edit?.diff ?? '', d?.edit?.old ?? '', d?.edit?.new ?? '', d?.write?.content ?? '', r.output);
  }
  if (row.type === 'plan') parts.push(...(row.entries ?? []).map((e) => e.text));
  if (row.type === 'subagent') parts.push(row.title ?? '', row.agentType ?? '');
  return parts.filter(Boolean).join('\n');
}

/** Every place of the text in the rows, in their order; the case of letters does not matter. */
export function findIn(rows: readonly Searched[], text: string): Hit[] {
  const want = text.toLowerCase();
  const out: Hit[] = [];
  if (!want.trim()) return out;
  for (const r of rows) {
    const body = searchText(r).toLowerCase();
    let nth = 0;
    for (let at = body.indexOf(want); at >= 0; at = body.indexOf(want, at + want.length)) {
      out.push({ id: r.row.id, nth: nth++ });
      if (out.length >= MAX_HITS) return out;
    }
  }
  return out;
}

/** The id to toggle so that a row comes into sight: a fold it is in, or the outermost closed sub-agent above it. */
export function hiddenBy<R extends TimelineRow>(entries: readonly Entry<R>[], rows: readonly R[], toggled: ReadonlySet<string>, id: string): string {
  const by = new Map(rows.map((r) => [r.row.id, r.row]));
  const line = [id];
  for (let p = by.get(id)?.parentId; p && by.has(p) && !line.includes(p); p = by.get(p)?.parentId) line.unshift(p);
  const fold = entries.find((e) => e.kind === 'fold' && !e.open && e.rows.some((r) => r.row.id === line[0]));
  if (fold) return fold.id;
  return line.slice(0, -1).find((p) => !toggled.has(p)) ?? '';
}

/** Ranges of the text in what is drawn below an element. */
export function rangesIn(root: Node, text: string): Range[] {
  const want = text.toLowerCase();
  const out: Range[] = [];
  if (!want.trim()) return out;
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    const body = (n.nodeValue ?? '').toLowerCase();
    for (let at = body.indexOf(want); at >= 0; at = body.indexOf(want, at + want.length)) {
      if (at + want.length > (n.nodeValue?.length ?? 0)) break;
      const range = document.createRange();
      range.setStart(n, at);
      range.setEnd(n, at + want.length);
      out.push(range);
    }
  }
  return out;
}
