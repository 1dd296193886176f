import type { Chat, ChatUsage, CommandInfo, Usage } from '../../lib/api/types.gen';
import { tilde, tokens } from '../../lib/text/format';
import { oneLine } from '../../lib/text/visible';

/** Commands that Whippletree answers itself; the agent does not get them. Everything else goes to the agent as it is. */
export type OwnCommand = 'status' | 'usage' | 'handoff' | 'rename' | 'fork' | 'changes';

export const OWN: readonly (CommandInfo & { name: OwnCommand })[] = [
  { name: 'status', kind: 'command', description: 'What runs in this chat, and where' },
  { name: 'usage', kind: 'command', description: 'Tokens and cost of this chat' },
  { name: 'changes', kind: 'command', description: 'What this chat changed' },
  { name: 'handoff', kind: 'command', description: 'Continue in a terminal' },
  { name: 'rename', kind: 'command', description: 'Give the chat another title', argumentHint: 'title' },
  { name: 'fork', kind: 'command', description: 'Copy the session into a new chat' },
];

/** The command of ours that a message is; null when it is the agent's to read. */
export function ownCommand(text: string): { name: OwnCommand; argument: string } | null {
  const m = /^\/([a-z]+)(?:\s+([\s\S]*))?$/.exec(text.trim());
  const found = m && OWN.find((c) => c.name === m[1]);
  if (!found) return null;
  const argument = (m![2] ?? '').trim();
  // Only a title follows a command of ours; with other words it is a message.
  if (argument && found.name !== 'rename') return null;
  return { name: found.name, argument };
}

export interface Answer {
  title: string;
  lines: { label: string; value: string; note?: string }[];
  note?: string;
}

const HAND: Record<string, string> = { app: 'Whippletree', releasing: 'being handed over', mirror: 'a terminal', reattaching: 'being taken back', unclear: 'unclear: nothing is written' };

export function statusAnswer(chat: Chat, agent: string, home: string, model: string, mode: string): Answer {
  const lines = [
    { label: 'Agent', value: [agent, chat.agent.version].filter(Boolean).join(' ') },
    { label: 'Model', value: model || 'the agent’s default' },
    { label: 'Mode', value: mode || 'the agent’s default' },
    { label: 'Folder', value: tilde(chat.cwd, home) || 'none, a confined chat' },
    { label: 'Branch', value: chat.project.branch ?? '' },
    { label: 'Turn', value: chat.turn === 'idle' ? (chat.lastEnd ? `idle, the last one ${chat.lastEnd.outcome}` : 'idle') : chat.turn },
    { label: 'Writes now', value: chat.hand.state === 'mirror' ? chat.hand.place?.label || HAND.mirror! : HAND[chat.hand.state]! },
    { label: 'Session', value: chat.handle?.nativeId ?? 'not begun' },
    { label: 'Chat', value: chat.id },
  ];
  return { title: 'Status', lines: lines.filter((l) => l.value).map((l) => ({ ...l, value: oneLine(l.value) })) };
}

/** Money with as many digits as it has. */
export const dollars = (n: number) => (n >= 1 ? `$${n.toFixed(2)}` : n >= 0.0001 ? `$${n.toFixed(4)}` : '$0');

export function usageText(u: Usage): string {
  const parts = [`${tokens(u.input)} in`, `${tokens(u.output)} out`];
  if (u.cacheRead) parts.push(`${tokens(u.cacheRead)} from cache`);
  if (u.cacheWrite) parts.push(`${tokens(u.cacheWrite)} to cache`);
  if (u.reasoning) parts.push(`${tokens(u.reasoning)} thinking`);
  return parts.join(', ');
}

export function usageAnswer(u: ChatUsage, now: number): Answer {
  const lines: Answer['lines'] = [];
  if (u.context?.max) lines.push({ label: 'Context', value: `${tokens(u.context.used)} of ${tokens(u.context.max)}`, note: `${Math.min(100, Math.round((100 * u.context.used) / u.context.max))}%` });
  if (!u.count) return { title: 'Usage', lines, note: 'The agent reported no tokens of this chat yet.' };
  const last = u.turns?.[0];
  if (last) lines.push({ label: 'Last turn', value: usageText(last.usage), note: last.usage.costUsd ? dollars(last.usage.costUsd) : undefined });
  lines.push({ label: `${u.count} ${u.count === 1 ? 'turn' : 'turns'}`, value: usageText(u.total), note: u.total.costUsd ? dollars(u.total.costUsd) : undefined });
  for (const w of u.windows ?? []) lines.push({ label: oneLine(w.label), value: `${Math.round(w.usedPercent)}% used`, note: w.resetsAt && w.resetsAt > now ? `until ${new Date(w.resetsAt).toLocaleString([], { weekday: 'short', hour: '2-digit', minute: '2-digit' })}` : undefined });
  return { title: 'Usage', lines, note: u.estimate ? 'Costs are the agent’s estimate, not a bill.' : undefined };
}
