import type { Searched } from './find';
import { toolView } from './tool';

/** A fence longer than any in the text. */
function fenced(text: string, lang = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((m) => m[0].length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${lang}\n${text.replace(/\n$/, '')}\n${fence}`;
}

/** A turn as Markdown: what was said by whom, and each step with its diff or the output that is here. */
export function turnText(rows: readonly Searched[], agent: string): string {
  const out: string[] = [];
  let voice = '';
  const say = (who: string, text: string) => {
    if (!text) return;
    if (voice !== who) out.push(`**${who}**`);
    voice = who;
    out.push(text);
  };
  for (const r of rows) {
    const row = r.row;
    switch (row.type) {
      case 'user':
        say('You', r.text);
        break;
      case 'text':
        say(agent, r.text);
        break;
      case 'tool': {
        const v = toolView({ ...row, output: r.output });
        const head = `- ${[v.verb, v.subject.includes('\n') || !v.subject ? '' : `\`${v.subject}\``, [v.code, v.right].filter(Boolean).join(', ')].filter(Boolean).join(' ')}`;
        const e = row.detail?.edit;
        const body = v.subject.includes('\n') ? fenced(v.subject) : '';
        const diff = e?.diff ? fenced(e.diff, 'diff') : '';
        const output = v.body === 'output' && r.output ? fenced(r.output) : '';
        say(agent, [head, body, diff, output].filter(Boolean).join('\n\n'));
        break;
      }
      case 'plan':
        say(agent, (row.entries ?? []).map((e) => `- [${e.status === 'done' ? 'x' : ' '}] ${e.text}`).join('\n'));
        break;
      case 'subagent':
        say(agent, `- Sub-agent: ${row.title || row.agentType || ''}`);
        break;
      case 'error':
      case 'notice':
        out.push(`> ${r.text.replace(/\n/g, '\n> ')}`);
        break;
    }
  }
  return out.join('\n\n') + '\n';
}
