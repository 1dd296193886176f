/**
 * How well a name fits what was typed: its letters in order, better at the beginning of words and in a row. null when it
 * does not. The ranges are what matched, for the eye.
 */
export interface Fit {
  points: number;
  ranges: [number, number][];
}

const WORD = /[\s_\-./:]/;

export function fit(name: string, query: string): Fit | null {
  if (!query) return { points: 0, ranges: [] };
  const n = name.toLowerCase();
  const q = query.toLowerCase();
  const whole = n.indexOf(q);
  if (whole >= 0) {
    const starts = whole === 0 || WORD.test(n[whole - 1]!);
    return { points: (starts ? 2000 : 1000) + (whole === 0 ? 500 : 0) + (n === q ? 500 : 0) - n.length, ranges: [[whole, whole + q.length]] };
  }
  const at: number[] = [];
  let from = 0;
  let points = 0;
  for (const c of q) {
    // The beginning of a word if one is ahead, else the next place.
    let i = n.indexOf(c, from);
    if (i < 0) return null;
    for (let j = i; j >= 0; j = n.indexOf(c, j + 1)) {
      if (j === 0 || WORD.test(n[j - 1]!)) {
        if (rest(n, j + 1, q, at.length + 1)) i = j;
        break;
      }
    }
    points += i === 0 || WORD.test(n[i - 1]!) ? 30 : i === from ? 20 : 5;
    at.push(i);
    from = i + 1;
  }
  const ranges: [number, number][] = [];
  for (const i of at) {
    const last = ranges.at(-1);
    if (last && last[1] === i) last[1] = i + 1;
    else ranges.push([i, i + 1]);
  }
  return { points: points - n.length, ranges };
}

function rest(n: string, from: number, q: string, at: number): boolean {
  for (const c of q.slice(at)) {
    const i = n.indexOf(c, from);
    if (i < 0) return false;
    from = i + 1;
  }
  return true;
}

/** The best ones first; equal ones keep their order. */
export function best<T>(items: readonly T[], query: string, name: (item: T) => string, limit: number): T[] {
  const found: { item: T; points: number }[] = [];
  for (const item of items) {
    const f = fit(name(item), query);
    if (f) found.push({ item, points: f.points });
  }
  return query ? found.sort((a, b) => b.points - a.points).slice(0, limit).map((f) => f.item) : found.slice(0, limit).map((f) => f.item);
}
