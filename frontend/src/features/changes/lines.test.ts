import { expect, it } from 'vitest';
import { pairs, shownOf } from './lines';
import { parseUnified } from '../chat/diff';

const DIFF = '@@ -1,4 +1,4 @@\n a\n-b\n-c\n+B\n d\n+e\n';

it('puts what was and what is beside each other', () => {
  const view = pairs(parseUnified(DIFF)).map((s) => (s.kind === 'pair' ? [s.left?.text ?? '', s.right?.text ?? ''] : s.kind));
  expect(view).toEqual([['a', 'a'], ['b', 'B'], ['c', ''], ['d', 'd'], ['', 'e']]);
});

it('shows every piece with its heading and what is left out', () => {
  const list = shownOf([{ diff: DIFF, head: { text: 'Edit', at: 1, turn: 2 } }, { diff: '', note: 'A binary file' }, { diff: '@@ -0,0 +1,1 @@\n+x', cut: { itemId: 't', field: 'content', size: 9 } }], false);
  expect(list.map((s) => s.kind)).toEqual(['head', 'line', 'line', 'line', 'line', 'line', 'line', 'note', 'line', 'note']);
  // Nothing is lost: the same lines in both views.
  const texts = (split: boolean) => shownOf([{ diff: DIFF }], split).flatMap((s) => (s.kind === 'line' ? [s.line.kind + s.line.text] : s.kind === 'pair' ? [...new Set([s.left, s.right])].flatMap((l) => (l ? [l.kind + l.text] : [])) : []));
  expect(texts(true).sort()).toEqual(texts(false).sort());
});
