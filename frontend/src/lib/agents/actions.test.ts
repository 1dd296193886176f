import { describe, expect, it } from 'vitest';
import { fakeChat, fakeSession } from '../fake/samples';
import { rowActions } from './actions';
import { evidence, type Agent } from './row';

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

it('a tooltip has source, text, age, grade and why a place cannot be focused', () => {
  const now = 1_000_000_000;
  const lines = evidence(agent({ state: 'running', stateSince: now - 60_000, pid: 7, link: 'inferred', candidates: [7, 8], evidence: { source: 'transcript', text: 'its transcript', at: now - 40_000 }, place: { kind: 'terminal', label: 'xterm', canFocus: false, external: true, whyNot: 'no window id' } }), now).split('\n');
  expect(lines[0]).toMatch(/^Working since \d\d:\d\d, 1 minute$/);
  expect(lines.slice(1, 6)).toEqual(['Read from its transcript (transcript), 40 seconds ago', 'Terminal: xterm, inferred, not proved', 'External: it descends from no terminal of ours', 'Candidates: pid 7, 8', 'Cannot go there: no window id']);
});
