import { describe, expect, it } from 'vitest';
import { accessibleName, agentRows, rowState, type Agent } from './row';
import { buildTree } from './tree';
import { fakeChat, fakeSession } from '../fake/samples';

const NOW = 1_000_000_000;
const opts = { now: NOW, toggled: new Set<string>(), inboxOpen: false };
const ids = (list: ReturnType<typeof buildTree>) => list.map((n) => (n.kind === 'row' ? n.agent.session.title : `${n.kind}:${n.kind === 'sub' ? n.sub.title : n.label}`));

function sample(): Agent[] {
  return agentRows(
    [
      fakeSession('b', { title: 'newer', startedAt: 20, state: 'running', project: { root: '/p', name: 'pay', branch: 'main' } }),
      fakeSession('a', { title: 'older', startedAt: 10, state: 'idle', stateSince: NOW - 1000, project: { root: '/p', name: 'pay', branch: 'main' } }),
      fakeSession('c', { title: 'tree', startedAt: 5, state: 'running', project: { root: '/p', name: 'pay', worktree: 'v2', branch: 'v2' } }),
      fakeSession('d', { title: 'long idle', state: 'idle', stateSince: NOW - 86400_000, project: { root: '/p', name: 'pay', branch: 'main' } }),
      fakeSession('w2', { title: 'waits less', state: 'waiting', waitingKind: 'question', stateSince: NOW - 1000, project: { root: '/z', name: 'web' } }),
      fakeSession('w1', { title: 'waits longest', state: 'waiting', waitingKind: 'approval', stateSince: NOW - 9000, project: { root: '/p', name: 'pay' } }),
      fakeSession('x', { title: 'alone', state: 'running', project: { root: '', name: '' } }),
      fakeSession('y', { title: 'first by name', state: 'running', project: { root: '/a', name: 'atlas' }, subagents: [{ id: '1', type: 'x', title: 'sub', status: 'running' }] }),
    ],
    [],
  );
}

describe('the agents list', () => {
  it('groups by need, project and worktree, in a stable order', () => {
    expect(ids(buildTree(sample(), opts))).toEqual([
      'group:Needs you', 'waits longest', 'waits less',
      'group:atlas', 'first by name', 'sub:sub',
      'group:pay', 'worktree:main', 'older', 'newer', 'worktree:v2', 'tree', 'fold:1 idle',
      'group:No folder', 'alone',
    ]);
  });

  it('shows five that need the person, and the rest in the inbox', () => {
    const many = agentRows(Array.from({ length: 8 }, (_, i) => fakeSession(`n${i}`, { state: 'waiting', stateSince: NOW - i })), []);
    expect(ids(buildTree(many, opts)).at(-1)).toBe('fold:3 more in the Inbox');
    expect(buildTree(many, opts)).toHaveLength(7);
    expect(ids(buildTree(many, { ...opts, inboxOpen: true }))).toEqual(['group:Needs you']);
  });

  it('moves no row between groups while the list is in use', () => {
    const agents = sample();
    const held = new Map(agents.map((a) => [a.id, rowState(a).needsYou]));
    const answered = agents.map((a) => (a.session.title === 'waits longest' ? { ...a, session: { ...a.session, state: 'running' as const } } : a));
    expect(ids(buildTree(answered, { ...opts, held }))).toEqual(ids(buildTree(agents, opts)));
    expect(ids(buildTree(answered, opts))[1]).toBe('waits less');
  });

  it('has one row for a chat and its session, and a row for a chat that no source knows', () => {
    const chats = [fakeChat('c1', { turn: 'running', state: 'running' }), fakeChat('c2', { turn: 'running', state: 'running', title: 'unknown to sources' }), fakeChat('c3', {})];
    const rows = agentRows([fakeSession('a', { chatId: 'c1' })], chats);
    expect(rows.map((r) => r.id)).toEqual(['rehearsal/a', 'chat:c2']);
    expect(rows[0]!.chat?.id).toBe('c1');
    const external = { kind: 'external', label: 'External', external: true, canFocus: false };
    expect(agentRows([fakeSession('a', { chatId: 'c1', place: external })], chats)[0]!.session.place.label).toBeUndefined();
    expect(agentRows([fakeSession('a', { place: external })], chats)[0]!.session.place.label).toBe('External');
  });

  it.each([
    [{ state: 'waiting', waitingKind: 'approval', waitingFor: 'go test' }, 'need', 'Approve', true],
    [{ state: 'waiting', waitingKind: 'plan' }, 'need', 'Plan', true],
    [{ state: 'blocked', waitingKind: 'signin' }, 'blocked', 'Blocked', true],
    [{ state: 'failed', unread: true }, 'fail', 'Failed', true],
    [{ state: 'failed' }, 'fail', 'Failed', false],
    [{ state: 'running' }, 'work', 'Working', false],
    [{ state: 'running', stale: true }, 'stale', 'Stale?', false],
    [{ state: 'starting' }, 'start', 'Starting', false],
    [{ state: 'done', unread: true }, 'done', 'Done', false],
    [{ state: 'idle' }, 'idle', 'Idle', false],
    [{ state: 'canceled' }, 'cancel', 'Canceled', false],
  ] as const)('state grammar %j', (s, glyph, word, needs) => {
    const r = rowState({ id: 'x', session: fakeSession('x', s) });
    expect([r.glyph, r.word, r.needsYou]).toEqual([glyph, word, needs]);
  });

  it('says everything in the accessible name', () => {
    const a = { id: 'x', session: fakeSession('x', { title: 'Fix it', state: 'waiting', waitingKind: 'approval', waitingFor: 'go test', stateSince: NOW - 40_000, project: { root: '/p', name: 'payments-api', branch: 'main' } }) };
    expect(accessibleName(a, 'Claude Code', NOW)).toBe('Approve go test, Fix it, Claude Code, payments-api, main, 40 seconds');
  });
});
