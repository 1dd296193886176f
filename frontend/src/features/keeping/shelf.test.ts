import { describe, expect, it } from 'vitest';
import type { StoredFolder, StoredSession } from '../../lib/api/types.gen';
import { Merged, projects, sources, type Source } from './shelf';

const session = (harness: string, n: number): StoredSession => ({ handle: { harness, nativeId: String(n), cwd: '/w' }, title: `${harness} ${n}`, updatedAt: n });

describe('Merged', () => {
  const lists: Record<string, number[]> = { a: [9, 7, 5, 3, 1], b: [8, 6, 4], c: [] };
  const make = (asked: string[]) =>
    new Merged(Object.keys(lists).map((harness): Source => ({ harness, cwd: '' })), async (s, cursor) => {
      asked.push(`${s.harness}:${cursor}`);
      const from = Number(cursor || 0);
      const page = lists[s.harness]!.slice(from, from + 2);
      return { sessions: page.map((n) => session(s.harness, n)), next: from + 2 < lists[s.harness]!.length ? String(from + 2) : '' };
    });

  it('gives several lists as one, newest first, whatever the size of the steps', async () => {
    for (const step of [1, 2, 3, 50]) {
      const m = make([]);
      const got: number[] = [];
      while (!m.done) got.push(...(await m.take(step)).map((s) => s.updatedAt));
      expect(got).toEqual([9, 8, 7, 6, 5, 4, 3, 1]);
    }
  });

  it('asks for no page before it is needed, and for none twice', async () => {
    const asked: string[] = [];
    const m = make(asked);
    await m.take(2);
    expect(asked.sort()).toEqual(['a:', 'b:', 'c:']);
    await m.take(50);
    expect(new Set(asked).size).toBe(asked.length);
  });
});

describe('projects', () => {
  const folder = (harness: string, cwd: string, root: string, sessionsHere: number, updatedAt: number): StoredFolder => ({ harness, cwd, project: { root, name: root.slice(1) }, sessions: sessionsHere, updatedAt });
  const folders = [folder('a', '/x', '/x', 2, 10), folder('b', '/x/sub', '/x', 1, 30), folder('a', '/y', '/y', 5, 20)];

  it('puts folders together, the last used first', () => {
    expect(projects(folders, '').map((p) => [p.root, p.sessions, p.updatedAt])).toEqual([['/x', 3, 30], ['/y', 5, 20]]);
    expect(projects(folders, 'a').map((p) => p.root)).toEqual(['/y', '/x']);
  });

  it('knows where the sessions of a choice come from', () => {
    expect(sources(folders, '', '')).toEqual([{ harness: 'a', cwd: '' }, { harness: 'b', cwd: '' }]);
    expect(sources(folders, '', '/x')).toEqual([{ harness: 'a', cwd: '/x' }, { harness: 'b', cwd: '/x/sub' }]);
    expect(sources(folders, 'b', '/x')).toEqual([{ harness: 'b', cwd: '/x/sub' }]);
    expect(sources(folders, '', '/none')).toEqual([]);
  });
});
