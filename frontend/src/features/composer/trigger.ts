/** What the text before the caret asks for: a slash command at the start, or a file after @ (a path with spaces in quotes). */
export interface Trigger {
  kind: 'command' | 'file';
  query: string;
  from: number;
}

export function triggerAt(text: string, caret: number): Trigger | null {
  const before = text.slice(0, caret);
  const slash = /^\/([\w:.-]*)$/.exec(before);
  if (slash) return { kind: 'command', query: slash[1]!, from: 0 };
  const at = /(^|[\s(])@(?:"([^"\n]*)|([^\s@"]*))$/.exec(before);
  if (at) return { kind: 'file', query: at[2] ?? at[3]!, from: at.index + at[1]!.length };
  return null;
}

/** A mention as agents read it: a path with spaces stands in quotes. */
export const mention = (path: string) => (/[\s"']/.test(path) ? `@"${path.replaceAll('"', '')}"` : `@${path}`);

/** Puts a choice in. A folder that is to be looked into stays open: no quote and no space behind it. */
export function complete(text: string, caret: number, t: Trigger, value: string, into = false): { text: string; caret: number } {
  const whole = t.kind === 'command' ? '/' + value : mention(value);
  const put = into ? whole.replace(/"$/, '') : whole + ' ';
  const after = text.slice(caret).replace(/^"/, '');
  const rest = into ? after : after.replace(/^ /, '');
  return { text: text.slice(0, t.from) + put + rest, caret: t.from + put.length };
}
