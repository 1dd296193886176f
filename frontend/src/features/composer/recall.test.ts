import { expect, it } from 'vitest';
import { Recall } from './recall';

it('goes back, comes forward, and ends where it began', () => {
  const r = new Recall();
  expect(r.older()).toBeNull();
  expect(r.begin([], '')).toBeNull();
  expect(r.begin(['c', 'b', 'a'], '')).toBe('c');
  expect([r.older(), r.older(), r.older()]).toEqual(['b', 'a', null]);
  expect([r.newer(), r.newer(), r.newer(), r.active, r.newer()]).toEqual(['b', 'c', '', false, null]);
  r.begin(['c'], 'x');
  expect([r.undo(), r.active]).toEqual(['x', false]);
});
