import { describe, expect, it } from 'vitest';
import { complete, mention, triggerAt } from './trigger';

describe('completion in the composer', () => {
  it.each([
    ['/rev', 4, { kind: 'command', query: 'rev', from: 0 }],
    ['look at @src/a', 14, { kind: 'file', query: 'src/a', from: 8 }],
    ['(@x', 3, { kind: 'file', query: 'x', from: 1 }],
    ['see @"my doc', 12, { kind: 'file', query: 'my doc', from: 4 }],
    ['me@host', 7, null],
    ['a /rev', 6, null],
    ['/rev now', 8, null],
    ['@"done" ', 8, null],
  ] as const)('%s', (text, caret, want) => expect(triggerAt(text, caret)).toEqual(want));

  it('puts the choice in', () => {
    expect(complete('see @src and', 8, { kind: 'file', query: 'src', from: 4 }, 'src/a.go')).toEqual({ text: 'see @src/a.go and', caret: 14 });
    expect(complete('@"my', 4, { kind: 'file', query: 'my', from: 0 }, 'my doc.md')).toEqual({ text: '@"my doc.md" ', caret: 13 });
    expect(complete('@sr', 3, { kind: 'file', query: 'sr', from: 0 }, 'src/', true)).toEqual({ text: '@src/', caret: 5 });
    expect(complete('/re', 3, { kind: 'command', query: 're', from: 0 }, 'review')).toEqual({ text: '/review ', caret: 8 });
    expect(mention('a b')).toBe('@"a b"');
  });
});
