/** A run of code with one of the five highlight roles, or none. */
export interface Run {
  role: '' | 'k' | 's' | 'n' | 'f' | 'c';
  text: string;
}

const ROLES: [RegExp, Run['role']][] = [
  [/comment|quote|meta/, 'c'],
  [/string|regexp|addition|symbol|char/, 's'],
  [/number|literal|bullet|variable\.constant/, 'n'],
  [/keyword|built_in|selector-tag|tag|name|operator|section|deletion/, 'k'],
  [/title|function|attr|property|type|class|params/, 'f'],
];

const role = (cls: string): Run['role'] => ROLES.find(([re]) => re.test(cls))?.[1] ?? '';

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'", '&#39;': "'" };

/** The highlighter's markup as lines of runs: the page sets text, never markup. */
export function toLines(html: string): Run[][] {
  const lines: Run[][] = [[]];
  const stack: Run['role'][] = [];
  for (const part of html.split(/(<span class="[^"]*">|<\/span>)/)) {
    const open = /^<span class="([^"]*)">$/.exec(part);
    if (open) stack.push(role(open[1]!.replace(/hljs-/g, '')) || (stack.at(-1) ?? ''));
    else if (part === '</span>') stack.pop();
    else if (part) {
      const text = part.replace(/&(?:amp|lt|gt|quot|#x27|#39);/g, (e) => ENTITIES[e]!);
      text.split('\n').forEach((t, i) => {
        if (i) lines.push([]);
        if (t) lines.at(-1)!.push({ role: stack.at(-1) ?? '', text: t });
      });
    }
  }
  return lines;
}
