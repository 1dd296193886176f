import { expect, it } from 'vitest';
import { working } from './working';

it('S04: a silent turn says for how long and offers the way out', () => {
  expect(working('idle', 5, 5, 10)).toBeNull();
  expect(working('opening', 5, 0, 10)).toMatchObject({ word: 'Starting', silent: false });
  expect(working('running', 5, 0, 10)).toEqual({ glyph: 'work', word: 'Working', since: 5, silent: false });
  expect(working('running', 5, 1000, 121_000)).toMatchObject({ glyph: 'stale', word: 'No activity for 2 min', silent: true });
  expect(working('running', 5, 1000, 31_000)).toMatchObject({ word: 'No activity for 30 s' });
  expect(working('running', 5, 1000, 3_700_000)).toMatchObject({ word: 'No activity for 1 hour' });
  expect(working('stopping', 5, 1000, 121_000)).toMatchObject({ glyph: 'stop', silent: false });
});
