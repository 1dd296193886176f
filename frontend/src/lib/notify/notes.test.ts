import { expect, it } from 'vitest';
import { sessionId, type Agent } from '../agents/row';
import { fakeSession } from '../fake/samples';
import { preferences } from '../stores/settings';
import { Notes } from './notes';

const agent = (id: string, more: object = {}): Agent => {
  const session = fakeSession(id, more);
  return { id: sessionId(session), session };
};
const name = () => 'Claude Code';
const prefs = preferences(null);

it('a note tells what changed while nobody looked, once, and no words unless wanted', () => {
  const n = new Notes();
  const waits = agent('a', { state: 'waiting', waitingKind: 'approval', waitingFor: 'rm -rf x', title: 'Secret plan' });
  expect(n.look([waits], name, prefs, true)).toEqual([]);
  expect(n.look([agent('a', { state: 'running' })], name, prefs, true)).toEqual([]);
  expect(n.look([waits], name, prefs, true)).toEqual([{ id: 'rehearsal/a', title: 'Claude Code waits for you', body: 'app', open: 'session:rehearsal/a' }]);
  expect(n.look([waits], name, prefs, true)).toEqual([]);
  n.look([agent('a', { state: 'running' })], name, prefs, true);
  expect(n.look([waits], name, { ...prefs, notifyText: true }, true)[0]!.body).toBe('Secret plan\nApprove: rm -rf x');
});

it('follows its switches and the window in front', () => {
  const end = agent('a', { state: 'done', unread: true, chatId: 'c' });
  const fresh = () => {
    const n = new Notes();
    n.look([agent('a', { state: 'running' })], name, prefs, true);
    return n;
  };
  expect(fresh().look([end], name, prefs, true)[0]).toMatchObject({ title: 'Claude Code is done', open: 'chat:c' });
  expect(fresh().look([end], name, prefs, false)).toEqual([]);
  expect(fresh().look([end], name, { ...prefs, notify: false }, true)).toEqual([]);
  expect(fresh().look([end], name, { ...prefs, notifyFinished: false }, true)).toEqual([]);
  expect(fresh().look([agent('a', { state: 'failed', unread: true })], name, { ...prefs, notifyFailed: false }, true)).toEqual([]);
});
