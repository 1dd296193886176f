import { describe, expect, it } from 'vitest';
import { dollars, ownCommand, usageAnswer, usageText } from './own';

describe('our own commands', () => {
  it.each([
    ['/status', { name: 'status', argument: '' }],
    [' /usage ', { name: 'usage', argument: '' }],
    ['/rename A better\nname', { name: 'rename', argument: 'A better\nname' }],
    ['/status of the build', null],
    ['/compact', null],
    ['/Status', null],
    ['look at /status', null],
  ] as const)('%j', (text, want) => expect(ownCommand(text)).toEqual(want));

  it('tells what was used, and that a cost is an estimate', () => {
    const usage = { input: 1500, output: 20, cacheRead: 12_000, cacheWrite: 0, costUsd: 0.0213 };
    const a = usageAnswer({ total: { ...usage, costUsd: 1.5 }, turns: [{ turn: 3, usage }], count: 3, context: { used: 50_000, max: 200_000 }, estimate: true, windows: [{ label: 'Five hours', usedPercent: 41.6, resetsAt: 1 }] }, 2);
    expect(a.lines).toEqual([
      { label: 'Context', value: '50k of 200k', note: '25%' },
      { label: 'Last turn', value: '2k in, 20 out, 12k from cache', note: '$0.0213' },
      { label: '3 turns', value: '2k in, 20 out, 12k from cache', note: '$1.50' },
      { label: 'Five hours', value: '42% used', note: undefined },
    ]);
    expect(a.note).toContain('estimate');
    expect(usageText({ input: 1, output: 2, cacheRead: 0, cacheWrite: 3, reasoning: 4 })).toBe('1 in, 2 out, 3 to cache, 4 thinking');
    expect(dollars(0)).toBe('$0');
    expect(usageAnswer({ total: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, turns: [], count: 0 }, 0).note).toContain('no tokens');
  });
});
