import { describe, expect, it } from 'vitest';
import type { Ownership } from '../../lib/api/types.gen';
import { fakeChat, fakeSession } from '../../lib/fake/samples';
import { takeOver } from './takeover';

const chat = (o: Partial<Ownership> = {}) => fakeChat('c', { hand: { state: 'mirror', ownership: { owner: 'terminal', evidence: 'its registry entry', ...o } } });

describe('taking over says what is known', () => {
  it('names the process and its work', () => {
    const k = takeOver('Claude Code', 'kitty', chat({ pid: 7, link: 'proved' }), fakeSession('s', { state: 'running', tool: 'Bash' }));
    expect([k.what, k.working, k.refuses]).toEqual(['Claude Code (pid 7) is working there: Bash', true, '']);
    expect(k.steps).toEqual(['stop its turn and ask it to exit', 'wait until the process is gone', 'continue here at its last message']);
  });
  it('does not claim a turn where none is seen, nor idleness where nothing is', () => {
    expect(takeOver('Claude Code', 'kitty', chat({ pid: 7 }), fakeSession('s'))).toMatchObject({ what: 'Claude Code (pid 7) is open there and idle', working: false });
    expect(takeOver('Claude Code', 'kitty', undefined, undefined).what).toContain('not known');
    expect(takeOver('Claude Code', 'kitty', chat(), fakeSession('s', { state: 'running', stale: true })).what).toContain('not known');
    expect(takeOver('Claude Code', 'kitty', chat(), fakeSession('s', { state: 'waiting' })).what).toBe('Claude Code waits for an answer there');
  });
  it('ends nothing that is only inferred', () => {
    expect(takeOver('Claude Code', 'kitty', chat({ pid: 7, link: 'inferred' }), undefined).refuses).toContain('only inferred: its registry entry');
    expect(takeOver('Claude Code', 'kitty', chat({ owner: 'unclear' }), undefined).refuses).toContain('not clear');
  });
});
