import type { FakeServer } from '../lib/fake/server';
import type { Dialog } from '../lib/stores/app.svelte';
import type { Item, SearchHit, StoredFolder, StoredSession } from '../lib/api/types.gen';
import * as data from './data';

/** The search, the history, and the dialogs that export and remove. */
export type KeepingScene = 'search' | 'searchnone' | 'searchoff' | 'history' | 'archive' | 'removechat' | 'exportchat';
const DIALOGS: Record<KeepingScene, Dialog> = {
  search: { kind: 'search', text: 'newGate', cwd: '/home/me/src/payments-api' },
  searchnone: { kind: 'search', text: 'quux' },
  searchoff: { kind: 'search', text: 'gate' },
  history: { kind: 'history' },
  archive: { kind: 'history' },
  removechat: { kind: 'removeChat', chatId: 'c1' },
  exportchat: { kind: 'exportChat', chatId: 'c1' },
};
export const isKeepingScene = (s: string): s is KeepingScene => s in DIALOGS;
export const keepingDialog = (s: KeepingScene): Dialog => DIALOGS[s];

const hit = (n: number, over: Partial<SearchHit>): SearchHit => ({ chatId: 'c1', title: data.chats[0]!.title, harness: data.chats[0]!.harness, cwd: '/home/me/src/payments-api', itemId: `h${n}`, seq: n, turn: 1, type: 'user', at: data.NOW - n * 3_700_000, text: '', marks: [], ...over });
const marked = (text: string, ...words: string[]): Pick<SearchHit, 'text' | 'marks'> => ({ text, marks: words.flatMap((w) => [...text.matchAll(new RegExp(w, 'gi'))].map((m) => [m.index, m.index + w.length])).sort((a, b) => a[0]! - b[0]!) });

const hits: SearchHit[] = [
  hit(1, { type: 'text', ...marked('The flake comes from the gate: `newGate` is closed twice when the upload is retried while the first close still waits.', 'newGate') }),
  hit(2, { type: 'tool', kind: 'execute', ...marked('go test -race -run TestGateClosesOnce ./upload && grep -rn "newGate(" .', 'newGate') }),
  hit(3, { type: 'tool', kind: 'edit', ...marked('/home/me/src/payments-api/upload/gate.go -func newGate(n int) *gate { +func newGate(n int, once *sync.Once) *gate {', 'newGate') }),
  hit(4, { ...marked('move newGate next to the other helpers, 请把连接池的大小改成二十，然后再试一次', 'newGate') }),
  hit(5, { chatId: 'c2', title: data.chats[1]!.title, type: 'reasoning', ...marked('Обработчик закрывает newGateForUploads дважды, поэтому тест иногда не проходит', 'newGate') }),
  hit(6, { chatId: 'c2', title: data.chats[1]!.title, archived: true, type: 'plan', ...marked('Replace NewGate in the other packages', 'newGate') }),
];

const folder = (cwd: string, name: string, sessions: number, hours: number, gone = false): StoredFolder => ({ harness: 'claude-code', cwd, project: { root: cwd, name, gone: gone || undefined }, sessions, updatedAt: data.NOW - hours * 3_600_000 });
const folders = [folder('/home/me/src/payments-api', 'payments-api', 212, 1), folder('/home/me/src/docs-site', 'docs-site', 31, 20), folder('/home/me/old/prototype', 'prototype', 4, 900, true)];
const TITLES = ['Find out why the upload test is flaky', 'Add retries to the webhook sender', 'Rename the ledger tables', 'Review the open pull request', 'Перенести проверку подписи в middleware', '把连接池的大小改成二十', 'Why is the nightly build slow?', 'Write the release notes'];
const sessions: StoredSession[] = Array.from({ length: 300 }, (_, i) => ({
  handle: { harness: 'claude-code', nativeId: `s${i}`, cwd: folders[i % 7 === 3 ? 1 : 0]!.cwd },
  title: TITLES[i % TITLES.length]!,
  updatedAt: data.NOW - (i + 1) * 5_400_000,
  size: 40_000 + i * 13_337,
  model: 'claude-opus-4-5',
  first: TITLES[i % TITLES.length]!,
  last: i % 3 ? 'and now run the whole suite once more, with the race detector' : 'thanks, commit that',
  lastTurn: i % 11 === 4 ? 'interrupted' : 'completed',
}));
const item = (id: string, type: Item['type'], text: string, over: Partial<Item> = {}): Item => ({ id, type, at: data.NOW, text, ...over });

export function keeping(server: FakeServer, scene: string): void {
  server.on('search.find', ({ text, in: where }) => {
    if (where === 'sessions') return { hits: [], off: true };
    if (text === 'quux') return { hits: [], next: '' };
    return { hits, titles: [data.chats[0]!], next: '', waiting: 1204 };
  });
  server.on('sessions.storedFolders', () => ({ folders }));
  server.on('sessions.stored', ({ cwd, cursor, limit }) => {
    const all = sessions.filter((s) => !cwd || s.handle.cwd === cwd);
    const from = Number(cursor ?? 0);
    const many = limit ?? 50;
    return { sessions: all.slice(from, from + many), next: from + many < all.length ? String(from + many) : '' };
  });
  server.on('sessions.preview', () => ({
    head: [item('1', 'user', 'Find out why the upload test is flaky and fix it.'), item('2', 'reasoning', 'The test closes the gate in a goroutine.'), item('3', 'tool', '', { title: 'go test -race -count 20 ./upload', name: 'Bash' }), item('4', 'text', 'It fails in 3 of 20 runs. The gate is closed twice when a retry starts while the first close still waits.')],
    tail: [item('5', 'user', 'and now run the whole suite once more, with the race detector'), item('6', 'tool', '', { title: 'go test -race ./...', name: 'Bash' }), item('7', 'text', 'All 500 runs pass. I left the helper where it was and dropped the sleep that hid the same fault.')],
    left: 184,
  }));
  server.on('chats.removal', () => ({ chat: data.chats[0]!, rows: 214, queued: 2, waiting: 1, running: true, agentSession: '01a2', agentFile: '/home/me/.claude/projects/-home-me-src-payments-api/01a2b3c4-7d1f-4f0e-9a57-33c1f6f2a9d0.jsonl' }));
  server.on('chats.removed', () => ({ removed: scene === 'archive' ? [{ chatId: 'x', title: 'An old experiment', harness: 'claude-code', cwd: '/home/me/old/prototype', rows: 87, at: data.NOW - 86_400_000, why: 'retention' }] : [] }));
  server.on('chats.forgetRemoved', () => ({}));
  server.on('chats.set', () => ({ chat: data.chats[0]! }));
  server.on('chats.remove', () => ({}));
  if (scene === 'archive') {
    const t = server.topic('chats');
    t.value = (t.value as typeof data.chats).map((c, i) => (i > 0 ? { ...c, archived: true } : c));
  }
}
