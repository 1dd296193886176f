import { Client } from '../lib/api/client';
import { FRAME_OUTPUT } from '../lib/api/frames';
import { FakeServer } from '../lib/fake/server';
import { App } from '../lib/stores/app.svelte';
import { fixedClock } from '../lib/stores/clock.svelte';
import * as data from './data';
import { isKeepingScene, keeping, keepingDialog, type KeepingScene } from './keeping';
import { chatScene, isChatScene, type ChatScene } from './scenes';

const SCREEN = '\x1b[1;32m~/src/payments-api\x1b[0m \x1b[35mmain\x1b[0m \x1b[33m*3\x1b[0m\r\n\x1b[34m❯\x1b[0m git status --short\r\n \x1b[31mM\x1b[0m upload/gate_test.go\r\n \x1b[31mM\x1b[0m upload/retry.go\r\n\x1b[31m??\x1b[0m notes/flaky.md\r\n\r\n\x1b[1;32m~/src/payments-api\x1b[0m \x1b[35mmain\x1b[0m \x1b[33m*3\x1b[0m\r\n\x1b[34m❯\x1b[0m ';

export type Scene = KeepingScene | 'window' | 'working' | 'mirror' | 'inbox' | 'settings' | 'palette' | 'welcome' | 'gone' | 'empty' | 'newchat' | 'takeover' | 'trust' | 'quit' | 'general' | 'terminal' | 'problems' | 'continue' | 'silent' | 'several' | ChatScene;

/** A whole window against a host in memory, in the moment a picture shows. */
export function world(scene: Scene): App {
  const server = new FakeServer();
  server.host = { ...server.host, userHome: '/home/me', startedAt: data.NOW };
  const empty = scene === 'empty';
  const set = (topic: string, value: unknown) => (server.topic(topic).value = value);
  set('host', server.host);
  set('sessions', empty ? [] : data.sessions);
  set('chats', empty || scene === 'welcome' ? [] : scene === 'mirror' || scene === 'takeover' ? data.chats.map((c) => (c.id === 'c1' ? mirrored(c) : c)) : data.chats);
  set('terminals', data.terminals);
  set('approvals', empty ? [] : [data.approval]);
  set('harnesses', data.harnesses);
  set('settings', { values: {}, path: '/home/me/.config/whippletree/settings.json', problems: scene === 'problems' ? [{ path: 'general.zoom', code: 'invalid', message: 'must be at most 200' }, { path: 'notifications', code: 'duplicate', message: 'appears twice; the last one counts' }] : undefined });
  set('chat:c1', scene === 'mirror' || scene === 'takeover' ? { ...mirrored(data.chat), approvals: [] } : scene === 'working' || scene === 'continue' ? streaming() : scene === 'silent' ? { ...streaming(), silentSince: data.NOW - 126_000, queue: [] } : scene === 'several' ? { ...data.chat, approvals: [data.approval, { ...data.approval, id: 'a2' }, { ...data.approval, id: 'a3', kind: 'mode', title: 'Change the mode?', preview: undefined, modeChange: { from: 'default', to: 'accept' } }] } : data.chat);
  if (isChatScene(scene)) set('chat:c1', chatScene(scene));
  set('chat:c2', { ...data.chat, ...data.chats[1], items: data.rows.slice(0, 1), queue: [], approvals: [] });
  set('chat:c3', { ...data.chat, ...data.chats[2], items: data.rows.slice(0, 1), queue: [], approvals: [] });

  const panes = empty || scene === 'welcome' ? [{ tabs: [], active: 0 }] : [{ tabs: [{ kind: 'chat', id: 'c1' }, { kind: 'chat', id: 'c3' }], active: 0 }, { tabs: [{ kind: 'terminal', id: 't1' }], active: 0 }];
  server.on('uistate.get', ({ key }) => ({ key, value: key === 'window' ? { v: 1, panes, focused: 0, view: 'work', split: 0.59, side: 304, sideTab: 'agents', toggled: [], welcomed: scene !== 'welcome' } : {} }));
  server.on('uistate.set', () => ({}));
  server.on('terminals.colors', () => ({}));
  server.on('terminals.resize', () => ({}));
  server.on('terminals.detach', () => ({}));
  server.on('terminals.attach', () => {
    setTimeout(() => server.frame(FRAME_OUTPUT, 1, new TextEncoder().encode(SCREEN)));
    return { stream: 1, terminal: data.terminals[0]! };
  });
  server.on('catalog.get', () => ({ catalog: data.catalog }));
  server.on('chats.seen', () => ({}));
  keeping(server, scene);
  server.on('chats.cards', () => ({ cards: [] }));
  server.on('chats.rewindPreview', () => ({ conversation: true, rows: 9, files: { possible: true, files: ['upload/retry_test.go', 'upload/gate_test.go'], insertions: 14, deletions: 3 } }));
  server.on('chats.rewind', () => ({}));
  server.on('files.open', () => ({ how: 'editor', program: 'code' }));
  server.on('files.find', () => ({ paths: ['upload/retry.go', 'upload/retry_test.go'] }));
  server.on('approvals.answer', (p) => ({ won: true, card: { ...data.approval, state: 'sent', answer: { optionId: p.answer.optionId, by: 'window', at: data.NOW } } }));
  server.on('approvals.rules', () => ({ rules: [{ id: '1', project: '/home/me/src/payments-api', harness: 'claude-code', tool: 'Bash', pattern: 'go test', at: data.NOW }] }));
  server.on('approvals.audit', () => ({ entries: [] }));
  server.on('settings.set', () => ({ settings: { values: {}, path: '' } }));
  server.on('terminals.apps', () => ({ apps: [{ id: 'kitty', label: 'kitty', default: true }, { id: 'xterm', label: 'xterm' }] }));
  server.on('handoff.preview', () => ({ command: { argv: ['claude'], cwd: '/' }, printed: 'cd ~/src/payments-api && claude --resume 01a2', places: [{ id: 'app', label: 'A tab here', default: true }, { id: 'kitty', label: 'kitty' }], canNow: false, why: '', running: true }));
  server.on('host.doctor', () => ({ checks: [{ id: 'a', title: 'Host', state: 'ok', text: 'version 0.1.0' }] }));
  server.on('trust.check', ({ cwd }) => ({ cwd, root: cwd, state: 'unknown', needed: true, starts: [{ kind: 'hook', name: 'PreToolUse', command: './scripts/check.sh', source: '/home/me/src/payments-api/.claude/settings.json' }, { kind: 'mcp', name: 'postgres', command: 'npx -y postgres-mcp', source: '/home/me/src/payments-api/.mcp.json' }] }));

  // Tests let events come as a host would send them.
  (globalThis as { fakeHost?: FakeServer }).fakeHost = server;
  const client = new Client({ endpoint: async () => ({ url: 'ws://fake/ws' }), hello: { client: 'test', version: '0' }, connect: () => server.connect() });
  const app = new App(client, { clock: fixedClock(data.NOW) });
  void client.start();
  setTimeout(() => {
    if (scene === 'inbox' || scene === 'settings') app.win.view = scene;
    if (scene === 'general' || scene === 'terminal' || scene === 'problems') app.win.view = 'settings';
    if (scene === 'settings') app.win.settingsPage = 'agents';
    if (scene === 'terminal') app.win.settingsPage = 'terminal';
    if (scene === 'continue') app.dialog = { kind: 'continue', chatId: 'c1' };
    if (isKeepingScene(scene)) app.dialog = keepingDialog(scene);
    if (scene === 'palette') app.palette = true;
    if (scene === 'newchat') app.dialog = { kind: 'newChat' };
    if (scene === 'takeover') app.dialog = { kind: 'takeOver', chatId: 'c1' };
    if (scene === 'trust') app.dialog = { kind: 'trust', harness: 'claude-code', cwd: '/home/me/src/payments-api', then: () => {} };
    if (scene === 'quit') app.dialog = { kind: 'quit', runningTurns: 2, terminals: 1 };
    if (scene === 'gone') {
      server.drop();
      client.close();
      app.status = { ...app.status, state: 'lost', attempt: 2, since: data.NOW };
    }
  }, 300);
  return app;
}

function mirrored<T extends object>(c: T): T {
  return { ...c, turn: 'idle', state: 'running', waiting: 0, hand: { state: 'mirror', since: data.NOW - 900_000, place: { kind: 'terminal', app: 'kitty', label: 'kitty', canFocus: true }, ownership: { owner: 'terminal', pid: 48213, terminal: 'kitty', link: 'proved', evidence: 'claude, pid 48213. Proved: it holds the session’s registry entry and descends from kitty' } } };
}

function streaming() {
  const items = [...data.rows, data.row('text', 2, { text: 'The race run is clean: 500 of 500. I’ll move `newGate` next to the other helpers and then\n\n1. drop the sleep in `chunk_test.go`, which hid the same\n2. add a line to', provisional: true, endedAt: undefined })];
  return { ...data.chat, items, approvals: [] };
}
