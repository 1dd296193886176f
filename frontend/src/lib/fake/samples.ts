import type { ChatSummary, Harness, Session } from '../api/types.gen';

/** Small values with sensible rest, for tests and the gallery. */

export function fakeSession(id: string, more: Partial<Session> = {}): Session {
  return {
    key: { harness: 'rehearsal', id },
    title: `Session ${id}`,
    state: 'idle',
    stateSince: 0,
    evidence: { source: 'registry', text: 'its registry entry', at: 0 },
    cwd: '/home/me/src/app',
    project: { root: '/home/me/src/app', name: 'app', branch: 'main' },
    place: { kind: 'none', canFocus: false },
    link: 'proved',
    ...more,
  };
}

export function fakeChat(id: string, more: Partial<ChatSummary> = {}): ChatSummary {
  return {
    id,
    title: `Chat ${id}`,
    harness: 'rehearsal',
    provider: 'rehearsal',
    kind: 'workspace',
    cwd: '/home/me/src/app',
    project: { root: '/home/me/src/app', name: 'app', branch: 'main' },
    turn: 'idle',
    state: 'idle',
    hand: { state: 'app' },
    waiting: 0,
    queued: 0,
    createdAt: 0,
    updatedAt: 0,
    ...more,
  };
}

export function fakeHarness(id: string, name: string, mark: string, more: Partial<Harness> = {}): Harness {
  return { harness: id, displayName: name, mark, extension: id, enabled: true, kinds: ['workspace'], canHandOver: true, availability: { available: true }, ...more };
}
