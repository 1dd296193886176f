import { describe, expect, it } from 'vitest';
import { marked, match } from './search';

describe('the palette', () => {
  it('finds words first, then letters in order', () => {
    const titles = ['Storybook 9 migration', 'Migrate invoices', 'Compare changes with git', 'Something else'];
    const ranked = titles.map((t) => [t, match(t, 'mig')?.score ?? -1] as const).sort((a, b) => b[1] - a[1]);
    expect(ranked.slice(0, 2).map((r) => r[0])).toEqual(['Migrate invoices', 'Storybook 9 migration']);
    expect(match('abc', 'xyz')).toBeNull();
  });
  it('marks what matched', () => {
    expect(marked('Migrate', match('Migrate', 'mig')!.at)).toEqual([{ text: 'Mig', on: true }, { text: 'rate', on: false }]);
  });
});
