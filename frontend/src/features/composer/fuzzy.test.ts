import { describe, expect, it } from 'vitest';
import { best, fit } from './fuzzy';

describe('fitting names to what was typed', () => {
  it('wants the letters in order, whatever their case', () => {
    expect(fit('compact', 'CPT')).not.toBeNull();
    expect(fit('compact', 'tpc')).toBeNull();
    expect(fit('x', '')).toEqual({ points: 0, ranges: [] });
  });
  it.each([
    ['rev', ['review', 'my-review', 'preview']],
    ['mr', ['my-review', 'merge-requests']],
    ['review', ['review', 'my-review', 'preview']],
    ['sr', ['status-report', 'security-review']],
  ])('%s', (query, want) => {
    expect(best(['preview', 'my-review', 'review', 'merge-requests', 'security-review', 'status-report', 'compact'], query, (x) => x, 7).filter((x) => want.includes(x))).toEqual(want);
  });
  it('says what matched', () => {
    expect(fit('security-review', 'sr')!.ranges).toEqual([[0, 1], [9, 10]]);
    expect(fit('usage', 'usa')!.ranges).toEqual([[0, 3]]);
  });
});
