import { describe, expect, it } from 'vitest';
import { oneLine, visible, visiblePieces } from './visible';

describe('hidden characters are shown', () => {
  it.each([
    ['rm -rf /\u202e gpj.x', 'rm -rf /\\u202e gpj.x'],
    ['a\u00a0b', 'a\\xa0b'],
    ['a\u200bb', 'a\\u200bb'],
    ['ls\u0007\u001b[2J', 'ls\\x07\\x1b[2J'],
    ['ls\r-rf', 'ls\\x0d-rf'],
    ['tag\u{e0041}', 'tag\\u{e0041}'],
    ['two\nlines\tand a tab', 'two\nlines\tand a tab'],
    ['Ünïcode 漢字 👍', 'Ünïcode 漢字 👍'],
  ])('%j', (input, want) => {
    expect(visible(input)).toBe(want);
    expect(visiblePieces(input).map((p) => p.text).join('')).toBe(want);
  });

  it('marks what is an escape', () => {
    expect(visiblePieces('a\u202eb')).toEqual([
      { text: 'a', escape: false },
      { text: '\\u202e', escape: true },
      { text: 'b', escape: false },
    ]);
  });

  it('puts a title on one line', () => {
    expect(oneLine("$(touch /tmp/p)'\"; rm\n\u202edlo")).toBe("$(touch /tmp/p)'\"; rm \\u202edlo");
  });
});
