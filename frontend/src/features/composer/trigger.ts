/** What the text before the caret asks for: a slash command at the start, or a file after @. */
export interface Trigger {
  kind: 'command' | 'file';
  query: string;
  from: number;
}

export function triggerAt(text: string, caret: number): Trigger | null {
  const before = text.slice(0, caret);
  const slash = /^\/([\w:.-]*)$/.exec(before);
  if (slash) return { kind: 'command', query: slash[1]!, from: 0 };
  const at = /(^|[\s(])@([^\s@]*)$/.exec(before);
  if (at) return { kind: 'file', query: at[2]!, from: before.length - at[2]!.length - 1 };
  return null;
}

export function complete(text: string, caret: number, t: Trigger, value: string): { text: string; caret: number } {
  const put = (t.kind === 'command' ? '/' : '@') + value + ' ';
  const rest = text.slice(caret).replace(/^ /, '');
  return { text: text.slice(0, t.from) + put + rest, caret: t.from + put.length };
}

/** Best matches first: at the start, at a word, anywhere. */
export function rank<T>(items: readonly T[], query: string, name: (item: T) => string, limit = 8): T[] {
  const q = query.toLowerCase();
  const score = (n: string) => (n.startsWith(q) ? 0 : new RegExp(`[\\W_]${q.replace(/[^\w]/g, '\\$&')}`).test(n) ? 1 : n.includes(q) ? 2 : 3);
  return items
    .map((item, i) => ({ item, i, s: score(name(item).toLowerCase()) }))
    .filter((x) => x.s < 3)
    .sort((a, b) => a.s - b.s || a.i - b.i)
    .slice(0, limit)
    .map((x) => x.item);
}
