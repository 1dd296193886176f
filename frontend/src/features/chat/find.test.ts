import { describe, expect, it } from 'vitest';
import type { Row } from '../../lib/api/types.gen';
import { findIn, hiddenBy, searchText, type Searched } from './find';
import { turnText } from './copy';
import { buildTimeline } from './timeline';

let seq = 0;
const r = (type: Row['type'], more: Partial<Row> = {}): Searched => ({ row: { id: `i${++seq}`, type, at: seq * 1000, seq, turn: 1, ...more }, text: more.text ?? '', output: more.output ?? '' });
const read = (path: string, more: Partial<Row> = {}) => r('tool', { kind: 'read', state: 'completed', detail: { read: { path } }, ...more });

describe('find in a chat', () => {
  it('looks at all that a row shows, folded or not', () => {
    const rows = [r('user', { text: 'Needle, needle' }), read('src/needle.go'), r('tool', { kind: 'execute', detail: { execute: { command: 'ls' } }, output: 'a NEEDLE' }), r('tool', { kind: 'edit', detail: { edit: { path: 'a', old: 'hay', new: 'needle', added: 1, removed: 1 } } }), r('plan', { entries: [{ text: 'find the needle', status: 'done' }] }), r('text', { text: 'no' })];
    expect(findIn(rows, 'needle').map((h) => h.nth)).toEqual([0, 1, 0, 0, 0, 0]);
    expect(findIn(rows, 'игла')).toEqual([]);
    expect(findIn([r('text', { text: 'Где ИГЛА? 针在哪里' })], 'игла')).toHaveLength(1);
    expect(findIn(rows, '  ')).toEqual([]);
    expect(searchText(read('x'))).toContain('Read');
  });

  it('knows what hides a row', () => {
    const rows = [r('user'), read('a'), r('subagent', { id: 's' }), r('subagent', { id: 't', parentId: 's' }), read('needle', { id: 'n', parentId: 't' }), r('text', { text: 'x' })];
    const open = new Set<string>();
    const opened: string[] = [];
    for (let i = 0; i < 6; i++) {
      const entries = buildTimeline(rows, { lastTurn: 2, toggled: open, cards: [] });
      if (entries.some((e) => e.kind === 'row' && e.id === 'n')) break;
      const id = hiddenBy(entries, rows, open, 'n');
      opened.push(id);
      open.add(id);
    }
    expect(opened).toEqual([`fold:${rows[1]!.row.id}`, 's', 't']);
  });
});

it('a turn is copied whole, with fences that its own text cannot close', () => {
  const rows = [
    r('user', { text: 'Fix it' }),
    read('a.go'),
    r('tool', { kind: 'execute', state: 'failed', detail: { execute: { command: 'go test', exitCode: 1 } }, output: 'a ``` b\n' }),
    r('tool', { kind: 'edit', state: 'completed', detail: { edit: { path: 'a.go', diff: '@@ -1 +1 @@\n-x\n+y\n', added: 1, removed: 1 } } }),
    r('text', { text: 'Done.' }),
    r('error', { text: 'It broke\ntwice' }),
  ];
  expect(turnText(rows, 'Claude Code')).toBe(
    '**You**\n\nFix it\n\n**Claude Code**\n\n- Read `a.go`\n\n- Ran `go test` exit 1\n\n````\na ``` b\n````\n\n- Edited `a.go`\n\n```diff\n@@ -1 +1 @@\n-x\n+y\n```\n\nDone.\n\n> It broke\n> twice\n',
  );
});
