/**
 * Characters that would make a command or path look like another one: controls,
 * bidi marks and overrides, invisible and look-alike spaces, tags. They are shown as escapes.
 */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]|[\u{e0000}-\u{e0fff}]/gu;

export interface Piece {
  text: string;
  /** True when the text is an escape that stands for a hidden character. */
  escape: boolean;
}

function escapeOf(ch: string): string {
  const cp = ch.codePointAt(0)!;
  if (cp < 0x100) return `\\x${cp.toString(16).padStart(2, '0')}`;
  if (cp < 0x10000) return `\\u${cp.toString(16).padStart(4, '0')}`;
  return `\\u{${cp.toString(16)}}`;
}

/** Splits text into plain pieces and escapes. Line feeds and tabs stay. */
export function visiblePieces(text: string): Piece[] {
  const out: Piece[] = [];
  let last = 0;
  for (const m of text.matchAll(HIDDEN)) {
    if (m.index > last) out.push({ text: text.slice(last, m.index), escape: false });
    out.push({ text: escapeOf(m[0]), escape: true });
    last = m.index + m[0].length;
  }
  if (last < text.length || out.length === 0) out.push({ text: text.slice(last), escape: false });
  return out;
}

export function visible(text: string): string {
  return text.replace(HIDDEN, escapeOf);
}

/** One line for titles: hidden characters as escapes, line breaks as spaces. */
export function oneLine(text: string): string {
  return visible(text.replace(/\s*[\r\n]+\s*/g, ' ').replace(/\t/g, ' '));
}
