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
  [/title|attr|property|type/, 'f'],
];

const role = (cls: string): Run['role'] => ROLES.find(([re]) => re.test(cls))?.[1] ?? '';

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'", '&#39;': "'" };

/** A name that is called. */
const CALL = /([A-Za-z_$][\w$]*)(?=\()/;

/** The highlighter's markup as lines of runs: the page sets text, never markup. With calls, names before a bracket are functions. */
export function toLines(html: string, calls = false): Run[][] {
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
        if (!t) return;
        const role = stack.at(-1) ?? '';
        if (role || !calls) return void lines.at(-1)!.push({ role, text: t });
        t.split(CALL).forEach((text, j) => text && lines.at(-1)!.push({ role: j % 2 ? 'f' : '', text }));
      });
    }
  }
  return lines;
}
