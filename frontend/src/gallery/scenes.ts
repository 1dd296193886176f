import type { ApprovalCard, Chat, Row } from '../lib/api/types.gen';
import * as data from './data';

/** Moments of one chat that a picture or a test shows. */
export const CHAT_SCENES = ['done', 'failed', 'question', 'planned', 'find', 'rewind', 'untrusted', 'stuck', 'elsewhere', 'long', 'nested'] as const;
export type ChatScene = (typeof CHAT_SCENES)[number];

export const isChatScene = (scene: string): scene is ChatScene => (CHAT_SCENES as readonly string[]).includes(scene);

const idle: Pick<Chat, 'turn' | 'state' | 'waiting' | 'queued' | 'queue' | 'approvals' | 'turnSince'> = { turn: 'idle', state: 'idle', waiting: 0, queued: 0, queue: [], approvals: [], turnSince: undefined };
const ask = (more: Partial<ApprovalCard>): ApprovalCard => ({ ...data.approval, description: '', preview: undefined, options: [], ...more });
const PLAN = `**Make checkout usable with a keyboard**\n\n${Array.from({ length: 18 }, (_, i) => `${i + 1}. Step ${i + 1}: label every field and tie its errors to it`).join('\n')}`;

/** More rows than a window draws at once. */
export function longRows(n: number): Row[] {
  return Array.from({ length: n }, (_, i): Row => {
    const turn = 3 + Math.floor(i / 10);
    if (i % 10 === 0) return data.row('user', turn, { id: `l${i}`, seq: 100 + i, text: `Question ${i}` });
    if (i % 10 === 4) return data.row('tool', turn, { id: `l${i}`, seq: 100 + i, kind: 'execute', state: 'completed', detail: { execute: { command: `go test ./pkg${i}`, exitCode: 0, durationMs: 900 } }, output: 'ok\nok\nok\nok\n' });
    return data.row('text', turn, { id: `l${i}`, seq: 100 + i, text: `Answer ${i}: some words about \`pkg${i}\`, and more of them so that the line wraps at some width.${i % 10 === 7 ? `\n\n\`\`\`go\nfunc f${i}() int {\n\treturn ${i}\n}\n\`\`\`` : ''}` });
  });
}

export function chatScene(scene: ChatScene): Chat {
  const chat = data.chat;
  switch (scene) {
    case 'done':
    case 'find':
    case 'rewind':
      return { ...chat, ...idle, abilities: [...(chat.abilities ?? []), 'rewind'], items: (chat.items ?? []).map((r) => (r.type === 'user' ? { ...r, nativeId: `n${r.id}` } : r)), lastEnd: { outcome: 'completed' } };
    case 'untrusted':
      return { ...chat, ...idle, lastEnd: { outcome: 'completed' }, trust: 'untrusted' };
    case 'failed':
      return { ...chat, ...idle, items: [...data.rows, data.row('error', 2, { id: 'end-2', reason: 'not_signed_in', text: 'Claude Code is not signed in any more.' })], lastEnd: { outcome: 'failed', reason: 'not_signed_in', text: 'Claude Code is not signed in any more.', fix: 'claude auth login' } };
    case 'stuck':
      return { ...chat, turn: 'stopping', approvals: [], queue: [], stopping: { step: 'shared', at: data.NOW - 30_000, ends: ['the chat “Rate limiter: token bucket”'] } };
    case 'question':
      return { ...chat, approvals: [ask({ id: 'q1', kind: 'question', title: 'Claude asks', questions: [{ id: 'q', header: 'Schema', text: 'Keep `amount_cents` for one release?', options: [{ id: 'a', label: 'Keep it, write both', description: 'Safe for ledger-export, one more migration later' }, { id: 'b', label: 'Drop it now', description: 'The API no longer reads it' }], allowOther: true, skippable: true }, { id: 'r', text: 'Anything else?', options: [], allowOther: true, skippable: true }], options: [{ id: 'y', label: 'Answer', kind: 'allow_once', reach: 'once' }, { id: 'n', label: 'No', kind: 'reject_once', reach: 'once', allowsComment: true }] })] };
    case 'planned':
      return { ...chat, approvals: [ask({ id: 'p1', kind: 'plan', title: 'Claude has a plan', plan: { text: PLAN }, options: [{ id: 'y', label: 'Yes', kind: 'allow_once', reach: 'once' }, { id: 's', label: 'Yes, and accept edits for this session', kind: 'allow_always', reach: 'session' }, { id: 'n', label: 'Keep planning', kind: 'reject_once', reach: 'once', allowsComment: true }] })] };
    case 'elsewhere':
      return { ...chat, approvals: [ask({ id: 'e1', title: 'The agent waits for an answer in its terminal.', elsewhere: { kind: 'terminal', app: 'xterm', label: 'xterm', canFocus: true } })] };
    case 'nested':
      return { ...chat, approvals: [], items: [...data.rows, data.row('subagent', 2, { id: 'sa', title: 'Find callers', state: 'running', endedAt: undefined, startedAt: data.NOW - 60_000 }), data.row('subagent', 2, { id: 'sb', parentId: 'sa', title: 'Look into the tests', state: 'completed' }), data.row('tool', 2, { parentId: 'sb', kind: 'read', state: 'completed', detail: { read: { path: 'upload/gate_test.go' } } }), data.row('tool', 2, { parentId: 'sa', kind: 'search', state: 'completed', detail: { search: { query: 'Allow(', matches: 12 } } })] };
    case 'long':
      return { ...chat, ...idle, items: longRows(Number(new URLSearchParams(location.search).get('rows') ?? 1200)), lastEnd: { outcome: 'completed' } };
  }
}
