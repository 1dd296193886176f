import { clockTime, count, longAge } from '../text/format';
import { oneLine } from '../text/visible';
import type { ApprovalCard, ChatSummary, Session } from '../api/types.gen';

/** The state grammar: shape, colour, word and place of a session row. */

export type GlyphName = 'need' | 'blocked' | 'work' | 'done' | 'fail' | 'ok' | 'idle' | 'cancel' | 'stale' | 'start' | 'stop' | 'rel';
export type Tone = 'need' | 'work' | 'done' | 'fail' | 'calm';

export interface Agent {
  /** "harness/native id", or "chat:" and its id while no session is known. */
  id: string;
  session: Session;
  chat?: ChatSummary;
  /** The person muted it: until when in ms, 0 for ever. It then asks for nobody. */
  muted?: number;
}

export interface RowState {
  glyph: GlyphName;
  tone: Tone;
  word: string;
  detail: string;
  bold: boolean;
  quiet: boolean;
  needsYou: boolean;
}

export const sessionId = (s: Session): string => `${s.key.harness}/${s.key.id}`;

const WAITING: Record<string, string> = { approval: 'Approve', question: 'Question', plan: 'Plan', mode: 'Mode' };
const BLOCKED: Record<string, string> = { signin: 'sign-in needed', limit: 'limit reached', trust: 'trust needed' };

export function rowState(a: Agent): RowState {
  const r = stateOf(a);
  return a.muted === undefined ? r : { ...r, bold: false, needsYou: false };
}

function stateOf(a: Agent): RowState {
  const s = a.session;
  const base = { bold: false, quiet: false, needsYou: false };
  const hand = a.chat?.hand.state;
  if (hand === 'releasing') return { ...base, glyph: 'rel', tone: 'calm', word: 'Handing over', detail: a.chat?.hand.place?.label ? `to ${a.chat.hand.place.label}` : '' };
  if (hand === 'reattaching') return { ...base, glyph: 'rel', tone: 'calm', word: 'Taking back', detail: '' };
  if (a.chat?.turn === 'stopping') return { ...base, glyph: 'stop', tone: 'calm', word: 'Stopping', detail: 'waits for the agent' };
  switch (s.state) {
    case 'waiting':
      return { ...base, glyph: 'need', tone: 'need', word: WAITING[s.waitingKind ?? ''] ?? 'Waiting', detail: oneLine(s.waitingFor ?? ''), needsYou: true };
    case 'blocked':
      return { ...base, glyph: 'blocked', tone: 'need', word: 'Blocked', detail: oneLine(s.waitingFor ?? BLOCKED[s.waitingKind ?? ''] ?? ''), needsYou: true };
    case 'failed':
      return { ...base, glyph: 'fail', tone: 'fail', word: 'Failed', detail: oneLine(s.error ?? ''), needsYou: s.needsYou ?? s.unread ?? false };
    case 'running':
      if (s.stale) return { ...base, glyph: 'stale', tone: 'calm', word: 'Stale?', detail: oneLine(s.tool ?? ''), quiet: true };
      return { ...base, glyph: 'work', tone: 'work', word: 'Working', detail: oneLine(s.tool ?? '') };
    case 'starting':
      return { ...base, glyph: 'start', tone: 'calm', word: 'Starting', detail: '' };
    case 'done':
      return { ...base, glyph: s.unread ? 'done' : 'idle', tone: s.unread ? 'done' : 'calm', word: 'Done', detail: s.counts?.files ? count(s.counts.files, 'file') : '', bold: s.unread ?? false, quiet: !s.unread };
    case 'canceled':
      return { ...base, glyph: 'cancel', tone: 'calm', word: 'Canceled', detail: oneLine(s.error ?? ''), quiet: true };
    case 'idle':
      if (s.unread) return { ...base, glyph: 'done', tone: 'done', word: 'Done', detail: s.counts?.files ? count(s.counts.files, 'file') : '', bold: true };
      return { ...base, glyph: 'idle', tone: 'calm', word: 'Idle', detail: '', quiet: true };
  }
}

export function projectLine(s: Session): string {
  const branch = s.project.worktree || s.project.branch;
  return [s.project.name || 'No folder', branch].filter(Boolean).join(', ');
}

/** "Waiting, approve go test, Fix flaky upload retry test, payments-api, 40 seconds". */
export function accessibleName(a: Agent, mark: string, now: number): string {
  const r = rowState(a);
  return [
    [r.word, r.detail].filter(Boolean).join(' '),
    oneLine(a.session.title),
    mark,
    projectLine(a.session),
    a.session.place.label,
    longAge(a.session.stateSince, now),
    r.bold ? 'unread' : '',
    a.muted !== undefined ? 'muted' : '',
  ].filter(Boolean).join(', ');
}

const GRADE: Record<string, string> = {
  proved: 'proved by the process tree',
  inferred: 'inferred, not proved',
  ambiguous: 'ambiguous, more than one fits',
};

/** The evidence of a state, one fact a line: what, from where, how old, how sure, and what cannot be done. */
export function evidence(a: Agent, now: number): string {
  const s = a.session;
  const r = rowState(a);
  const lines = [`${r.word}${s.stateSince ? ` since ${clockTime(s.stateSince)}, ${longAge(s.stateSince, now)}` : ''}`];
  if (a.muted !== undefined) lines.push(a.muted ? `Snoozed until ${clockTime(a.muted)}` : 'Muted: it asks for nobody');
  if (s.stale) lines[0] += ': it was at work and gives no sign';
  const e = s.evidence;
  const told = [e.text, e.source && e.source !== e.text ? `(${e.source})` : ''].filter(Boolean).join(' ');
  if (told) lines.push(`Read from ${told}${e.at ? `, ${longAge(e.at, now)} ago` : ''}`);
  const link = s.link ? (GRADE[s.link] ?? s.link) : '';
  if (s.place.label) lines.push(`Terminal: ${[s.place.label, link].filter(Boolean).join(', ')}`);
  else if (link) lines.push(`Process ${s.pid ? `${s.pid}, ` : ''}${link}`);
  if (s.place.external && s.place.kind !== 'none') lines.push('External: it descends from no terminal of ours');
  if (s.candidates?.length) lines.push(`Candidates: pid ${s.candidates.join(', ')}`);
  if (s.place.kind !== 'none' && !s.place.terminalId && !s.place.canFocus && s.place.whyNot) lines.push(`Cannot go there: ${s.place.whyNot}`);
  const about = [s.model, s.mode, s.context ? `${Math.round((100 * s.context.used) / Math.max(1, s.context.max))}% context` : ''].filter(Boolean).join(', ');
  if (about) lines.push(about);
  if (s.cwd) lines.push(s.cwd);
  return lines.join('\n');
}

function fromChat(c: ChatSummary): Session {
  return {
    key: { harness: c.harness, id: c.handle?.nativeId ?? c.id },
    title: c.title,
    model: c.model,
    mode: c.mode,
    state: c.waiting > 0 ? 'waiting' : c.state,
    waitingKind: c.waiting > 0 ? 'unknown' : undefined,
    stateSince: c.turnSince ?? c.updatedAt,
    error: c.lastEnd?.outcome === 'failed' ? c.lastEnd.text : undefined,
    evidence: { source: 'chat', text: 'this chat', at: c.updatedAt },
    cwd: c.cwd,
    project: c.project,
    place: { kind: 'none', canFocus: false },
    unread: c.unread,
    chatId: c.id,
  };
}

/** What our own chat waits for, where the source does not say it. */
function asked(s: Session, approvals: readonly ApprovalCard[]): Session {
  if (s.state !== 'waiting' || s.waitingFor || !s.chatId) return s;
  const a = approvals.find((x) => x.chatId === s.chatId && x.state === 'open');
  if (!a) return s;
  const waitingFor = a.preview?.command ?? a.preview?.path ?? a.questions?.[0]?.text ?? a.title;
  return { ...s, waitingKind: a.kind === 'tool' ? 'approval' : a.kind, waitingFor, stateSince: a.at };
}

/**
 * One row per session. A chat of ours that is at work or has something to say
 * and that no source reports has a row of its own.
 */
export function agentRows(sessions: readonly Session[], chats: readonly ChatSummary[], approvals: readonly ApprovalCard[] = [], muted: Muted = {}): Agent[] {
  const byChat = new Map(chats.map((c) => [c.id, c]));
  const shown = new Set<string>();
  const out: Agent[] = sessions.map((s) => {
    const chat = s.chatId ? byChat.get(s.chatId) : undefined;
    if (chat) shown.add(chat.id);
    // While the app drives it, its place is the chat itself, not the agent's process.
    const here = chat?.hand.state === 'app' && !s.place.terminalId ? { ...s, place: { kind: 'none', canFocus: false } } : s;
    return { id: sessionId(s), session: asked(here, approvals), chat };
  });
  for (const c of chats) {
    if (shown.has(c.id) || c.archived) continue;
    if (c.turn === 'idle' && c.waiting === 0 && !c.unread && c.hand.state === 'app' && c.state !== 'failed') continue;
    out.push({ id: `chat:${c.id}`, session: asked(fromChat(c), approvals), chat: c });
  }
  if (Object.keys(muted).length) for (const a of out) a.muted = mutedUntil(a, muted);
  return out;
}

/** What a person muted: target to its end in ms, 0 for ever. */
export type Muted = Readonly<Record<string, number>>;

/** The target that a row's own muting is kept under: its chat, which outlives its sessions, or its session. */
export const muteTarget = (a: Agent): string => {
  const chat = a.chat?.id ?? a.session.chatId;
  return chat ? `chat:${chat}` : `session:${sessionId(a.session)}`;
};
export const projectTarget = (a: Agent): string => `project:${a.session.project.root}`;

function mutedUntil(a: Agent, muted: Muted): number | undefined {
  for (const t of [muteTarget(a), `session:${sessionId(a.session)}`, projectTarget(a)]) if (Object.hasOwn(muted, t)) return muted[t];
  return undefined;
}
