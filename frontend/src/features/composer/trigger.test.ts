import { describe, expect, it } from 'vitest';
import { complete, rank, triggerAt } from './trigger';

describe('completion in the composer', () => {
  it.each([
    ['/rev', 4, { kind: 'command', query: 'rev', from: 0 }],
    ['look at @src/a', 14, { kind: 'file', query: 'src/a', from: 8 }],
    ['(@x', 3, { kind: 'file', query: 'x', from: 1 }],
    ['me@host', 7, null],
    ['a /rev', 6, null],
    ['/rev now', 8, null],
  ] as const)('%s', (text, caret, want) => expect(triggerAt(text, caret)).toEqual(want));

  it('puts the choice in', () => {
    expect(complete('see @src and', 8, { kind: 'file', query: 'src', from: 4 }, 'src/a.go')).toEqual({ text: 'see @src/a.go and', caret: 14 });
    expect(rank(['compact', 'my-review', 'review', 'preview'], 'rev', (x) => x)).toEqual(['review', 'my-review', 'preview']);
  });
});
