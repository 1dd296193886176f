/** A diff as lines: from a unified diff, or from the text before and after. */
export interface DiffLine {
  kind: ' ' | '+' | '-' | '@';
  old?: number;
  new?: number;
  text: string;
}

export function parseUnified(diff: string): DiffLine[] {
  const out: DiffLine[] = [];
  let a = 1;
  let b = 1;
  let inHunk = false;
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const h = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/.exec(line);
    if (h) {
      if (out.length) out.push({ kind: '@', text: h[3] ?? '' });
      a = Number(h[1]);
      b = Number(h[2]);
      inHunk = true;
      continue;
    }
    if (!inHunk && /^(diff |index |--- |\+\+\+ |new file|deleted file|similarity|rename )/.test(line)) continue;
    if (line.startsWith('\\')) continue;
    if (line.startsWith('+')) out.push({ kind: '+', new: b++, text: line.slice(1) });
    else if (line.startsWith('-')) out.push({ kind: '-', old: a++, text: line.slice(1) });
    else out.push({ kind: ' ', old: a++, new: b++, text: line.slice(1) });
  }
  return out;
}

/** Above this many cells the middle is shown as removed and added whole. */
const MAX_CELLS = 250_000;
const CONTEXT = 2;

export function diffTexts(before: string, after: string, start = 1): DiffLine[] {
  const a = before ? before.replace(/\n$/, '').split('\n') : [];
  const b = after ? after.replace(/\n$/, '').split('\n') : [];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let foot = 0;
  while (foot < a.length - head && foot < b.length - head && a[a.length - 1 - foot] === b[b.length - 1 - foot]) foot++;
  const am = a.slice(head, a.length - foot);
  const bm = b.slice(head, b.length - foot);
  const out: DiffLine[] = [];
  for (let i = Math.max(0, head - CONTEXT); i < head; i++) out.push({ kind: ' ', old: start + i, new: start + i, text: a[i]! });
  for (const l of middle(am, bm)) out.push({ ...l, old: l.old === undefined ? undefined : l.old + head + start, new: l.new === undefined ? undefined : l.new + head + start });
  for (let i = 0; i < Math.min(foot, CONTEXT); i++) {
    const ai = a.length - foot + i;
    out.push({ kind: ' ', old: start + ai, new: start + b.length - foot + i, text: a[ai]! });
  }
  return out;
}

function middle(a: string[], b: string[]): DiffLine[] {
  const out: DiffLine[] = [];
  if (a.length * b.length > MAX_CELLS) {
    a.forEach((text, i) => out.push({ kind: '-', old: i, text }));
    b.forEach((text, i) => out.push({ kind: '+', new: i, text }));
    return out;
  }
  const w = b.length + 1;
  const lcs = new Uint32Array((a.length + 1) * w);
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) lcs[i * w + j] = a[i] === b[j] ? lcs[(i + 1) * w + j + 1]! + 1 : Math.max(lcs[(i + 1) * w + j]!, lcs[i * w + j + 1]!);
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) out.push({ kind: ' ', old: i, new: j++, text: a[i++]! });
    else if (i < a.length && (j >= b.length || lcs[(i + 1) * w + j]! >= lcs[i * w + j + 1]!)) out.push({ kind: '-', old: i, text: a[i++]! });
    else out.push({ kind: '+', new: j, text: b[j++]! });
  }
  return out;
}
