import { expect, it } from 'vitest';
import { working } from './working';

it('S04: a silent turn says for how long and offers the way out', () => {
  expect(working('idle', 5, 5, 10)).toBeNull();
  expect(working('opening', 5, 0, 10)).toMatchObject({ word: 'Starting', silent: false });
  expect(working('running', 5, 0, 10)).toEqual({ glyph: 'work', word: 'Working', since: 5, silent: false });
  expect(working('running', 5, 1000, 121_000)).toMatchObject({ glyph: 'stale', word: 'No activity for 2 min', silent: true, act: 'stop' });
  expect(working('running', 5, 1000, 31_000)).toMatchObject({ word: 'No activity for 30 s' });
  expect(working('running', 5, 1000, 3_700_000)).toMatchObject({ word: 'No activity for 1 hour' });
  expect(working('stopping', 5, 1000, 121_000)).toMatchObject({ glyph: 'stop', silent: false });
});

it('a stop says each step it comes to, why, and what can be done', () => {
  const at = (step: 'asked' | 'owed' | 'ending' | 'stuck' | 'shared', more = {}) => working('stopping', 5, 0, 10_000, { step, at: 9000, ...more });
  expect(at('asked', { endsAt: 18_400 })).toMatchObject({ word: 'Stopping, waits for the agent', since: 9000, detail: 'Its processes are ended in 9 s' });
  expect(at('asked', { endsAt: 10_100 })!.detail).toBe('');
  expect(at('owed', { error: 'It said no', endsAt: 14_000 })).toMatchObject({ word: 'The agent did not stop', detail: 'It said no. Its processes are ended in 4 s', act: 'again' });
  expect(at('ending')).toMatchObject({ glyph: 'stop', word: 'It did not stop in time, its processes are being ended' });
  expect(at('stuck', { error: 'pid 7 is in the kernel' })).toMatchObject({ glyph: 'fail', detail: 'pid 7 is in the kernel', act: 'again' });
  expect(at('shared', { ends: ['a chat'] })).toMatchObject({ act: 'restart' });
  // The turn may have ended while a stop is still owed.
  expect(working('idle', 0, 0, 10, { step: 'stuck', at: 1 })).not.toBeNull();
});
