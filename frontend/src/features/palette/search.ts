/** Fuzzy search of the palette: letters in order, better at words and together. */
export interface Match {
  score: number;
  /** Indices of the letters that matched. */
  at: number[];
}

export function match(text: string, query: string): Match | null {
  const t = text.toLowerCase();
  const q = query.toLowerCase().trim();
  if (!q) return { score: 0, at: [] };
  const whole = t.indexOf(q);
  if (whole >= 0) {
    const word = whole === 0 || /[\W_]/.test(t[whole - 1]!);
    return { score: 1000 - whole + (word ? 200 : 0), at: Array.from({ length: q.length }, (_, i) => whole + i) };
  }
  const at: number[] = [];
  let from = 0;
  let score = 0;
  for (const ch of q.replace(/\s+/g, '')) {
    const i = t.indexOf(ch, from);
    if (i < 0) return null;
    score += i === from && at.length ? 8 : i === 0 || /[\W_]/.test(t[i - 1]!) ? 6 : 0;
    score -= Math.min(5, i - from);
    at.push(i);
    from = i + 1;
  }
  return score > 0 ? { score, at } : null;
}

/** The text in pieces, the matched ones marked. */
export function marked(text: string, at: readonly number[]): { text: string; on: boolean }[] {
  const on = new Set(at);
  const out: { text: string; on: boolean }[] = [];
  for (let i = 0; i < text.length; i++) {
    const last = out.at(-1);
    if (last && last.on === on.has(i)) last.text += text[i];
    else out.push({ text: text[i]!, on: on.has(i) });
  }
  return out;
}
