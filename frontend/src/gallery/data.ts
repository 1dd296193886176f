import type { ApprovalCard, Catalog, Chat, ChatSummary, Harness, Place, Project, Row, Session, Terminal } from '../lib/api/types.gen';
import { fakeChat, fakeHarness, fakeSession } from '../lib/fake/samples';

/** The picture's moment: every age counts from here, so that pictures do not change. */
export const NOW = new Date(2026, 10, 30, 12, 46, 0).getTime();
const ago = (s: number) => NOW - s * 1000;
const MIN = 60;
const HOUR = 3600;

const pay: Project = { root: '/home/me/src/payments-api', name: 'payments-api', branch: 'main' };
const payV2: Project = { ...pay, worktree: 'invoices-v2', branch: 'invoices-v2' };
const payDeps: Project = { ...pay, worktree: 'deps', branch: 'deps' };
const atlas: Project = { root: '/home/me/src/atlas-web', name: 'atlas-web', branch: 'main' };
const infra: Project = { root: '/home/me/src/infra', name: 'infra', branch: 'main' };
const runbooks: Project = { root: '/home/me/src/runbooks', name: 'runbooks' };
const tab = (n: number): Place => ({ kind: 'tab', terminalId: `t${n}`, label: `tab ${n}`, canFocus: true });
const other = (label: string): Place => ({ kind: 'terminal', app: label, label, canFocus: label !== 'External', external: true });

let n = 0;
const s = (harness: string, title: string, project: Project, more: Partial<Session>): Session =>
  fakeSession(`s${++n}`, { key: { harness, id: `s${n}` }, title, project, cwd: project.root, startedAt: n, evidence: { source: 'registry', text: 'its registry entry', at: NOW }, ...more });

export const sessions: Session[] = [
  s('claude-code', 'Fix flaky upload retry test', pay, { state: 'waiting', waitingKind: 'approval', waitingFor: 'go test -race ./upload', stateSince: ago(40), place: tab(1), chatId: 'c1', model: 'Opus 4.8', mode: 'ask first', context: { used: 124310, max: 200000 }, evidence: { source: 'chat', text: 'the permission request on the agent’s pipe', at: ago(40) } }),
  s('codex', 'Migrate invoices to schema v2', payV2, { state: 'waiting', waitingKind: 'question', waitingFor: 'Keep the old column?', stateSince: ago(3 * MIN), place: other('kitty'), chatId: 'c2' }),
  s('opencode', 'Checkout form accessibility pass', atlas, { state: 'waiting', waitingKind: 'plan', waitingFor: '6 steps', stateSince: ago(8 * MIN), place: other('tmux') }),
  s('gemini', 'Summarise incident 4127', runbooks, { state: 'blocked', waitingKind: 'signin', waitingFor: 'sign-in expired', stateSince: ago(21 * MIN), place: other('External') }),
  s('claude-code', 'Nightly dependency bump', payDeps, { state: 'failed', error: 'exit 1 in the middle of a turn', unread: true, needsYou: true, stateSince: ago(34 * MIN), place: tab(6) }),
  s('claude-code', 'Rate limiter: token bucket', pay, {
    state: 'running', tool: 'Edit limiter.go', stateSince: ago(2 * MIN), place: tab(2), chatId: 'c3',
    subagents: [
      { id: '1', type: 'x', title: 'Find callers of Allow()', status: 'running', startedAt: ago(MIN) },
      { id: '2', type: 'x', title: 'Benchmark allocations', status: 'completed' },
      { id: '3', type: 'x', title: 'Write table tests', status: 'running', startedAt: ago(20) },
    ],
  }),
  s('claude-code', 'Upgrade pgx to v5.9', pay, { state: 'done', unread: true, stateSince: ago(6 * MIN), place: tab(3), counts: { files: 14, tools: 40 } }),
  s('codex', 'Explain ledger rounding', pay, { state: 'idle', stateSince: ago(2 * HOUR), place: other('kitty') }),
  s('codex', 'Backfill script dry run', payV2, { state: 'running', tool: 'Bash', stateSince: ago(11 * MIN), place: other('External') }),
  s('claude-code', 'Rename Amount to Minor', payV2, { state: 'canceled', error: 'by you', stateSince: ago(HOUR), place: tab(4) }),
  s('opencode', 'Dark mode for the map legend', atlas, { state: 'running', tool: 'Thinking', stateSince: ago(4 * MIN), place: tab(7) }),
  s('pi', 'Storybook 9 migration', atlas, { state: 'running', stale: true, tool: 'silent 14 min', stateSince: ago(26 * MIN), place: other('tmux') }),
  s('opencode', 'Trim bundle below 180 kB', atlas, { state: 'done', unread: true, stateSince: ago(52 * MIN), place: tab(8) }),
  s('kimi', 'Terraform drift report', infra, { state: 'starting', stateSince: ago(3), place: tab(9) }),
  s('claude-code', 'Alert routing review', infra, { state: 'idle', stateSince: ago(5 * HOUR), place: other('Ghostty') }),
  s('claude-code', 'Old one', infra, { state: 'idle', stateSince: ago(50 * HOUR) }),
  s('rehearsal', 'Rehearsal: first steps', { root: '', name: '' }, { state: 'idle', stateSince: ago(2 * HOUR) }),
];

export const harnesses: Harness[] = [
  fakeHarness('claude-code', 'Claude Code', 'CC', { provider: 'claude', source: 'claude', sourceState: 'running', kinds: ['workspace', 'confined'], availability: { available: true, version: '2.1.332', path: '/home/me/.local/bin/claude', signedInAs: 'me', storedSessions: 212 } }),
  fakeHarness('codex', 'Codex', 'CX', { provider: 'codex', availability: { available: true, version: '0.171.0', path: '/home/me/.nvm/versions/node/v24.3.0/bin/codex' } }),
  fakeHarness('opencode', 'OpenCode', 'OC', { provider: 'opencode', availability: { available: true, version: '1.18.2', path: '/home/me/.opencode/bin/opencode' } }),
  fakeHarness('gemini', 'Gemini', 'GM', { provider: 'gemini', availability: { available: false, reason: 'not_signed_in', version: '0.31.0', path: '/usr/bin/gemini', detail: 'gemini auth login' } }),
  fakeHarness('copilot', 'Copilot', 'CP', { provider: 'copilot', availability: { available: false, reason: 'too_old', version: '1.0.9', neededVersion: '1.2.0', path: '/usr/local/bin/copilot', detail: 'npm i -g @github/copilot@latest' } }),
  fakeHarness('kimi', 'Kimi', 'KI', { enabled: false }),
  fakeHarness('pi', 'Pi', 'PI', { provider: 'pi', availability: { available: false, reason: 'not_installed', detail: 'npm i -g @earendil-works/pi-coding-agent' } }),
  fakeHarness('rehearsal', 'Rehearsal', 'RH', { demo: true, provider: 'rehearsal', kinds: ['workspace', 'confined'] }),
];

export const catalog: Catalog = {
  models: [
    { id: 'opus', label: 'Opus 4.8', default: true, description: 'For hard work', thinking: [{ id: 'low', label: 'Low' }, { id: 'high', label: 'High', default: true }] },
    { id: 'sonnet', label: 'Sonnet 4.8' },
  ],
  modes: [
    { id: 'default', label: 'Ask first', tier: 'safe', default: true },
    { id: 'accept', label: 'Accept edits', tier: 'moderate' },
    { id: 'bypass', label: 'Never ask', tier: 'dangerous', description: 'runs everything without asking' },
  ],
  features: [],
  commands: [{ name: 'compact', description: 'Shorten the conversation', kind: 'command' }, { name: 'review', description: 'Look at the changes', kind: 'command' }],
};

let seq = 0;
export const row = (type: Row['type'], turn: number, more: Partial<Row> = {}): Row => ({ id: `r${++seq}`, type, at: ago(600 - seq), seq, turn, endedAt: ago(600 - seq), ...more });
const tool = (turn: number, kind: Row['kind'], detail: Row['detail'], more: Partial<Row> = {}) => row('tool', turn, { kind, detail, state: 'completed', ...more });

export const DIFF = `@@ -41,4 +41,4 @@
 func TestRetryHonoursDeadline(t *testing.T) {
-	srv := httptest.NewServer(flaky(2))
-	defer srv.Close()
+	srv := newGate(t, flaky(2))
+	t.Cleanup(srv.drain) // last request first
 	ctx, cancel := context.WithTimeout(t.Context(), wait)
`;

export const rows: Row[] = [
  row('user', 1, { text: 'Which tests were flaky on CI last week?' }),
  ...Array.from({ length: 9 }, (_, i) => tool(1, 'read', { read: { path: `upload/f${i}.go` } }, { startedAt: ago(700), endedAt: ago(659) })),
  row('text', 1, { text: 'Three, out of 1,840. The first one costs the most:\n\n| Test | Failed | Runs |\n|---|--:|--:|\n| `upload.TestRetryHonoursDeadline` | 19 | 388 |\n| `ledger.TestCloseMonth` | 3 | 388 |\n| `webhook.TestReplay` | 1 | 388 |' }),
  row('user', 2, { text: 'The upload retry test fails about one run in twenty on CI. Find out why and fix it. Don’t just raise the timeout.' }),
  row('reasoning', 2, { text: 'The accept queue is a suspect.', startedAt: ago(200), endedAt: ago(186) }),
  tool(2, 'search', { search: { query: 'time.Sleep', matches: 6 } }),
  tool(2, 'read', { read: { path: 'upload/retry.go', from: 1, to: 140 } }),
  row('text', 2, { text: 'The test races the server’s shutdown, not the timeout:\n\n- `srv.Close()` runs while the third attempt is still in the accept queue, so the client counts it as an attempt.\n- On a loaded runner that happens in about 5% of runs.' }),
  row('plan', 2, { entries: [{ text: 'Reproduce with -count=200', status: 'done' }, { text: 'Find what the retry races with', status: 'done' }, { text: 'Gate the test server', status: 'done' }, { text: 'Confirm under the race detector', status: 'active' }, { text: 'Update the changelog', status: 'pending' }] }),
  tool(2, 'edit', { edit: { path: 'upload/retry_test.go', diff: DIFF, added: 2, removed: 2 } }),
  tool(2, 'execute', { execute: { command: 'go test -run TestRetry -count=200 ./upload', exitCode: 1, durationMs: 8214 } }, { state: 'failed', output: Array.from({ length: 209 }, (_, i) => `ok ${i}`).join('\n') + '\n--- FAIL: TestRetryHonoursDeadline (0.21s)\n    retry_test.go:58: got 3 attempts, want 2\nFAIL\tpayments/upload\t8.214s\n' }),
  row('text', 2, { text: 'One more place closes early: `drain` must wait for the last handler. With that fixed, 200 runs pass here. The race detector should have the last word.' }),
];

export const approval: ApprovalCard = {
  id: 'a1', kind: 'tool', title: 'Run a command?', description: 'Confirm that the fix holds under the race detector.', chatId: 'c1', turn: 2, at: ago(40), revision: 1, state: 'open',
  preview: { command: 'go test -race -count=500 -run TestRetry ./upload/...', cwd: '~/src/payments-api' },
  options: [
    { id: 'y', label: 'Yes', kind: 'allow_once', reach: 'once' },
    { id: 'a', label: 'Yes, and don’t ask again for go test in payments-api', kind: 'allow_always', reach: 'always', savedAt: '.claude/settings.local.json' },
    { id: 'n', label: 'No, and tell Claude what to do instead', kind: 'reject_once', reach: 'once', allowsComment: true },
  ],
};

const summary = (id: string, title: string, harness: string, more: Partial<ChatSummary> = {}): ChatSummary =>
  fakeChat(id, { title, harness, project: pay, cwd: pay.root, createdAt: ago(HOUR), updatedAt: ago(40), model: 'opus', mode: 'default', thinking: 'high', ...more });

export const chats: ChatSummary[] = [
  summary('c1', 'Fix flaky upload retry test', 'claude-code', { turn: 'running', state: 'waiting', waiting: 1, turnSince: ago(200), queued: 2 }),
  summary('c2', 'Migrate invoices to schema v2', 'codex', { project: payV2, state: 'waiting', waiting: 1 }),
  summary('c3', 'Rate limiter: token bucket', 'claude-code', { turn: 'running', state: 'running' }),
];

export const chat: Chat = {
  ...chats[0]!,
  agent: { name: 'Claude Code', version: '2.1.332' },
  abilities: ['images', 'approvals', 'steer', 'terminal', 'models', 'modes'],
  catalog,
  usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, context: { used: 124310, max: 200000 } },
  items: rows,
  first: 1,
  total: rows.length,
  queue: [
    { clientId: 'q1', text: 'Then update CHANGELOG.md under Unreleased', state: 'queued', at: NOW },
    { clientId: 'q2', text: 'And open a PR draft, title as in the plan', state: 'queued', at: NOW },
  ],
  approvals: [approval],
};

export const terminals: Terminal[] = [{ id: 't1', title: 'zsh: payments-api', cwd: pay.root, command: 'zsh', pid: 1, cols: 48, rows: 40, startedAt: ago(HOUR), running: true }];
