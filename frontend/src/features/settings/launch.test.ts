import { describe, expect, it } from 'vitest';
import { entryFrom, entryOf, idFrom, pathOf, textOf } from './launch';

describe('how an agent is started', () => {
  it('goes there and back', () => {
    const entry = { enabled: false, extends: 'x', label: 'Mine', binary: '/opt/x', args: ['--a', 'b c'], env: { A: '1=2', B: '' }, envFile: '~/.x' };
    expect(entryFrom(entry, textOf(entry))).toEqual({ entry });
  });
  it('leaves out what is empty', () => {
    expect(entryFrom({}, { label: 'no use', binary: ' ', args: '\n', env: '\n', envFile: '' })).toEqual({ entry: {} });
  });
  it('names the line that is wrong', () => {
    expect(entryFrom({}, { label: '', binary: '', args: '', env: 'A=1\nnot this', envFile: '' })).toEqual({ error: 'Environment, line 2: NAME=VALUE is needed, not “not this”' });
  });
  it('makes ids that are free', () => {
    expect(idFrom('My Claude (work)', [])).toBe('my-claude-work');
    expect(idFrom('Работа', ['agent'])).toBe('agent-2');
    expect(pathOf('a.b')).toBe('/harnesses/a.b');
  });
  it('reads entries only of their own', () => {
    expect(entryOf({ harnesses: { a: { binary: 'x' } } }, 'a')).toEqual({ binary: 'x' });
    expect(entryOf({ harnesses: {} }, 'constructor')).toEqual({});
    expect(entryOf(null, 'a')).toEqual({});
  });
});
