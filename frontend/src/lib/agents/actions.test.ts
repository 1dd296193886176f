import { describe, expect, it } from 'vitest';
import { fakeChat, fakeSession } from '../fake/samples';
import { rowActions } from './actions';
import { agentRows, evidence, muteTarget, rowState, type Agent } from './row';

const agent = (more: object = {}, chat?: Agent['chat']): Agent => ({ id: 'x', session: fakeSession('s', more), chat });
const action = (a: Agent, id: string) => rowActions(a).find((x) => x.id === id)!;

describe('what can be done with a row', () => {
  it('opens a stranger read-only, our own as its chat', () => {
    expect(action(agent(), 'open').label).toBe('Open as chat, read-only');
    expect(action(agent({ chatId: 'c' }), 'open').label).toBe('Open the chat');
  });
  it('says why a place cannot be reached', () => {
    expect(action(agent({ place: { kind: 'terminal', label: 'kitty', canFocus: true } }), 'go')).toMatchObject({ label: 'Go to kitty', disabled: undefined });
    expect(action(agent({ place: { kind: 'terminal', label: 'xterm', canFocus: false, whyNot: 'Wayland raises no window' } }), 'go').disabled).toBe('Wayland raises no window');
    expect(action(agent(), 'go').disabled).toBe('it does not run now');
    expect(action(agent({ pid: 5 }), 'go').disabled).toBe('no terminal was found for it');
    expect(action(agent({ pid: 5 }, fakeChat('c')), 'go').disabled).toBe('it runs here, in its chat');
  });
  it('marks as seen what is new, and nothing that waits', () => {
    expect(action(agent({ unread: true }), 'seen').disabled).toBeUndefined();
    expect(action(agent({ state: 'waiting' }), 'seen').disabled).toBe('waits for an answer');
    expect(action(agent(), 'seen').disabled).toBe('nothing is new');
  });
});

it('mutes a row and its project, and what is muted asks for nobody', () => {
  const project = { root: '/p', name: 'payments' };
  const ids = (a: Agent) => rowActions(a).map((x) => x.id);
  expect(ids(agent({ project }))).toEqual(['open', 'go', 'seen', 'snooze', 'mute', 'muteProject', 'copyId']);
  const rows = (muted: Record<string, number>) => agentRows([fakeSession('s', { state: 'waiting', project }), fakeSession('u', { state: 'done', unread: true, project, chatId: 'c1' })], [], [], muted);
  expect(rows({}).map((a) => [rowState(a).needsYou, rowState(a).bold])).toEqual([[true, false], [false, true]]);
  expect(rows({ 'project:/p': 0 }).map((a) => [rowState(a).needsYou, rowState(a).bold])).toEqual([[false, false], [false, false]]);
  expect(rows({ 'chat:c1': 0 }).map((a) => a.muted)).toEqual([undefined, 0]);
  expect(ids(rows({ 'project:/p': 0 })[0]!)).toContain('unmute');
  expect(muteTarget(rows({})[1]!)).toBe('chat:c1');
});

it('a tooltip has source, text, age, grade and why a place cannot be focused', () => {
  const now = 1_000_000_000;
  const lines = evidence(agent({ state: 'running', stateSince: now - 60_000, pid: 7, link: 'inferred', candidates: [7, 8], evidence: { source: 'transcript', text: 'its transcript', at: now - 40_000 }, place: { kind: 'terminal', label: 'xterm', canFocus: false, external: true, whyNot: 'no window id' } }), now).split('\n');
  expect(lines[0]).toMatch(/^Working since \d\d:\d\d, 1 minute$/);
  expect(lines.slice(1, 6)).toEqual(['Read from its transcript (transcript), 40 seconds ago', 'Terminal: xterm, inferred, not proved', 'External: it descends from no terminal of ours', 'Candidates: pid 7, 8', 'Cannot go there: no window id']);
});
