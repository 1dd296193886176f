import { describe, expect, it } from 'vitest';
import type { SearchHit } from '../../lib/api/types.gen';
import { lines, pieces, placeId, who } from './hits';

const hit = (over: Partial<SearchHit>): SearchHit => ({ chatId: 'c', title: 't', harness: 'h', cwd: '/w', itemId: 'i', type: 'user', text: '', marks: [], ...over });

describe('pieces', () => {
  it('marks what was found', () => {
    expect(pieces('a needle here', [[2, 8]])).toEqual([{ text: 'a ', on: false }, { text: 'needle', on: true }, { text: ' here', on: false }]);
  });
  it('counts in UTF-16 units', () => {
    expect(pieces('😀 needle', [[3, 9]])).toEqual([{ text: '😀 ', on: false }, { text: 'needle', on: true }]);
  });
  it('leaves out marks that do not fit', () => {
    expect(pieces('ab', [[1, 9], [-1, 1], [1, 1]])).toEqual([{ text: 'ab', on: false }]);
  });
  it('shows what turns the direction of a text', () => {
    expect(pieces('a\u202eb', [[0, 1]]).map((p) => p.text).join('')).not.toContain('\u202e');
  });
});

describe('lines', () => {
  it('names a place where it changes', () => {
    const list = lines([hit({ itemId: '1' }), hit({ itemId: '2' }), hit({ chatId: 'd' }), hit({ chatId: undefined, key: { harness: 'h', id: 's' } })]);
    expect(list.map((l) => l.kind)).toEqual(['place', 'hit', 'hit', 'place', 'hit', 'place', 'hit']);
    expect(new Set(list.map((l) => l.id)).size).toBe(list.length);
    expect(placeId(hit({ chatId: undefined, key: { harness: 'h', id: 's' } }))).toBe('session:h/s');
  });
  it('says who', () => {
    expect([who(hit({})), who(hit({ type: 'tool', kind: 'execute' })), who(hit({ type: 'tool' }))]).toEqual(['You', 'Command', 'Tool']);
  });
});
