import { describe, expect, it } from 'vitest';
import type { ApprovalCard, Row } from '../../lib/api/types.gen';
import { diffTexts, parseUnified } from './diff';
import { isPast } from '../../lib/stores/cards';
import { buildTimeline, type Entry, type TimelineRow } from './timeline';
import { plainOutput, tail, toolView } from './tool';

let seq = 0;
const r = (type: Row['type'], turn: number, more: Partial<Row> = {}): TimelineRow => ({ row: { id: `i${++seq}`, type, at: seq * 1000, seq, turn, ...more } });
const shape = (list: Entry<TimelineRow>[]) => list.map((e) => (e.kind === 'row' ? e.row.row.type : e.kind === 'fold' ? `fold(${e.label})` : e.kind));
const opts = { lastTurn: 2, running: true, toggled: new Set<string>(), cards: [] as ApprovalCard[] };

describe('the timeline', () => {
  it('folds the steps of turns before the last one', () => {
    const rows = [r('user', 1), r('reasoning', 1), r('tool', 1), r('tool', 1), r('text', 1), r('user', 2), r('tool', 2), r('tool', 2)];
    expect(shape(buildTimeline(rows, opts))).toEqual(['user', 'fold(3 steps, 2.0 s)', 'text', 'end', 'user', 'tool', 'tool']);
    const fold = buildTimeline(rows, opts)[1]!;
    expect(shape(buildTimeline(rows, { ...opts, toggled: new Set([fold.id]) }))).toHaveLength(10);
  });

  it('folds the newest turn once it ended well, up to the last thing the agent said', () => {
    const rows = [r('user', 2), r('tool', 2), r('tool', 2), r('text', 2), r('tool', 2), r('tool', 2)];
    expect(shape(buildTimeline(rows, { ...opts, foldLast: true }))).toEqual(['user', 'tool', 'tool', 'text', 'tool', 'tool']);
    const over = { ...opts, running: false };
    expect(shape(buildTimeline(rows, over))).toEqual(['user', 'tool', 'tool', 'text', 'tool', 'tool', 'end']);
    // Nothing was said after the last two: they are the answer.
    expect(shape(buildTimeline(rows, { ...over, foldLast: true }))).toEqual(['user', 'fold(2 steps, 1.0 s)', 'text', 'tool', 'tool', 'end']);
  });

  it('leaves out what the agent took back: a text that ended empty, and the running row of a compaction once it has its own', () => {
    const rows = [r('user', 2), r('text', 2, { endedAt: 1 }), r('compaction', 2, { state: 'completed', takenBack: true, endedAt: 1 }), r('compaction', 2, { state: 'completed', trigger: 'manual', endedAt: 1 })];
    expect(shape(buildTimeline(rows, opts))).toEqual(['user', 'compaction']);
    for (const state of ['running', 'failed', 'canceled'] as const) expect(shape(buildTimeline([r('compaction', 2, { state })], opts))).toEqual(['compaction']);
  });

  it('never folds a turn that failed, was stopped, or lost its host', () => {
    const steps = () => [r('user', 1), r('tool', 1), r('tool', 1)];
    expect(shape(buildTimeline([...steps(), r('error', 1), r('user', 2)], opts))).toEqual(['user', 'tool', 'tool', 'error', 'end', 'user']);
    expect(shape(buildTimeline([...steps(), r('notice', 1, { id: 'end-1' }), r('user', 2)], opts))).toEqual(['user', 'tool', 'tool', 'notice', 'end', 'user']);
    expect(shape(buildTimeline([...steps(), r('tool', 1, { state: 'canceled' }), r('user', 2)], opts))).toEqual(['user', 'tool', 'tool', 'tool', 'end', 'user']);
    const over = { ...opts, running: false, foldLast: true };
    expect(shape(buildTimeline([r('user', 2), r('tool', 2), r('tool', 2), r('text', 2), r('error', 2)], over))).toEqual(['user', 'tool', 'tool', 'text', 'error', 'end']);
    // A tool that failed is no turn that failed.
    expect(shape(buildTimeline([r('user', 2), r('tool', 2, { state: 'failed' }), r('tool', 2), r('text', 2)], over))).toEqual(['user', 'fold(2 steps, 1.0 s)', 'text', 'end']);
  });

  it('keeps in sight what a person decided when its step folds', () => {
    const steps = Array.from({ length: 6 }, () => r('tool', 1));
    const options = [{ id: 'y', label: 'Yes', kind: 'allow_once' as const, reach: 'once' }, { id: 'n', label: 'No', kind: 'reject_once' as const, reach: 'once' }];
    const card = (i: number, more: Partial<ApprovalCard>): ApprovalCard => ({ id: `c${i}`, itemId: steps[i]!.row.id, kind: 'tool', title: '', options, chatId: 'c', turn: 1, at: 1, revision: 1, state: 'confirmed', answer: { optionId: 'y', by: 'window', at: 1 }, ...more });
    const cards = [card(0, {}), card(1, { answer: { optionId: 'y', by: 'rule', rule: 'r', at: 1 } }), card(2, { answer: { optionId: 'n', by: 'window', at: 1 } }), card(3, { kind: 'plan' }), card(4, { answer: { optionId: 'y', by: 'window', rule: 'r', at: 1 } }), card(5, { state: 'withdrawn' })];
    expect(buildTimeline([...steps, r('text', 1), r('user', 2)], { ...opts, cards }).flatMap((e) => (e.kind === 'card' ? [e.card.id] : []))).toEqual(['c2', 'c3', 'c4', 'c5']);
  });

  it('sums up what a turn changed', () => {
    const edit = (path: string, more = {}) => r('tool', 1, { state: 'completed', detail: { edit: { path, added: 3, removed: 1 } }, ...more });
    const rows = [r('user', 1), edit('a'), edit('a'), r('subagent', 1, { id: 'sub' }), edit('b', { parentId: 'sub' }), edit('c', { state: 'declined' }), r('tool', 1, { state: 'completed', detail: { write: { path: 'd', content: '1\n2\n', created: true } } }), r('user', 2)];
    expect(buildTimeline(rows, opts).find((e) => e.kind === 'end')).toMatchObject({ sum: { turn: 1, files: 3, added: 11, removed: 3, took: 6000 } });
  });

  it('does not show what the agent took back', () => {
    const rows = [r('user', 2), r('reasoning', 2, { endedAt: 9 }), r('text', 2, { endedAt: 9, text: '' }), r('text', 2, { provisional: true }), r('text', 2, { endedAt: 9, text: 'yes' }), r('tool', 2, { endedAt: 9 })];
    expect(shape(buildTimeline(rows, opts))).toEqual(['user', 'text', 'text', 'tool']);
  });

  it('puts what a sub-agent did below it, at any depth, once it is opened', () => {
    const rows = [r('subagent', 2, { id: 'a' }), r('subagent', 2, { id: 'b', parentId: 'a' }), r('tool', 2, { parentId: 'b' }), r('subagent', 2, { id: 'c', parentId: 'b' }), r('text', 2, { parentId: 'unknown' })];
    const list = buildTimeline(rows, opts);
    expect(shape(list)).toEqual(['subagent', 'text']);
    expect(list[0]).toMatchObject({ steps: 1, depth: 0 });
    const open = buildTimeline(rows, { ...opts, toggled: new Set(['a', 'b', 'c']) });
    expect(open.map((e) => ('depth' in e ? e.depth : -1))).toEqual([0, 1, 2, 2, 3, 0]);
    expect(shape(open)).toEqual(['subagent', 'subagent', 'tool', 'subagent', 'none', 'text']);
    // One that names itself as its parent cannot hide.
    expect(shape(buildTimeline([r('subagent', 2, { id: 'x', parentId: 'x' })], opts))).toEqual(['subagent']);
  });

  it('draws the border where a terminal wrote', () => {
    const rows = [r('user', 2), r('user', 2, { via: 'terminal' }), r('text', 2, { via: 'terminal' }), r('user', 2)];
    expect(shape(buildTimeline(rows, opts))).toEqual(['user', 'border', 'user', 'text', 'border', 'user']);
  });

  it('shows an ended approval at its tool, and no open one', () => {
    const tool = r('tool', 2);
    const card = (id: string, state: ApprovalCard['state'], more: Partial<ApprovalCard> = {}): ApprovalCard => ({ id, kind: 'tool', title: '', options: [], chatId: 'c', turn: 2, at: tool.row.at + 1, revision: 1, state, ...more });
    const cards = [card('a', 'confirmed', { itemId: tool.row.id }), card('b', 'open'), card('c', 'sent', { acknowledges: true }), card('d', 'withdrawn')];
    expect(shape(buildTimeline([tool, r('text', 2)], { ...opts, cards: cards.filter(isPast) }))).toEqual(['tool', 'card', 'card', 'text']);
  });
});

describe('tools', () => {
  it.each([
    [{ kind: 'read', detail: { read: { path: 'a.go', from: 1, to: 88 } } }, ['Read', 'a.go', '1–88', 'none']],
    [{ kind: 'search', detail: { search: { query: 'x', matches: 1 } } }, ['Searched', 'x', '1 match', 'none']],
    [{ kind: 'execute', state: 'completed', output: 'o', detail: { execute: { command: 'ls', exitCode: 1, durationMs: 8214 } } }, ['Ran', 'ls', '8.2 s', 'output']],
    [{ kind: 'execute', state: 'running', detail: { execute: { command: 'ls' } } }, ['Running', 'ls', '', 'none']],
    [{ kind: 'execute', state: 'declined', detail: { execute: { command: 'rm' } } }, ['Not allowed', 'rm', '', 'none']],
    [{ kind: 'edit', detail: { edit: { path: 'a', old: 'x', new: 'y', added: 1, removed: 1 } } }, ['Edited', 'a', '', 'diff']],
    [{ kind: 'other', name: 'Odd', detail: { unknown: { input: { a: 1 } } } }, ['Odd', '', '', 'data']],
  ] as const)('%j', (more, want) => {
    const v = toolView({ id: 'x', type: 'tool', at: 0, seq: 1, turn: 1, ...more } as Row);
    expect([v.verb, v.subject, v.right, v.body]).toEqual(want);
  });

  it('shows output as text', () => {
    expect(plainOutput('\u001b[31mFAIL\u001b[0m\r\n50%\r100%\n\u001b]0;t\u0007x')).toBe('FAIL\n100%\nx');
    expect(tail('1\n2\n3\n4\n', 3)).toEqual({ text: '2\n3\n4', total: 4 });
  });
});

describe('diffs', () => {
  it('are read from unified text', () => {
    const d = parseUnified('--- a/x\n+++ b/x\n@@ -41,3 +41,3 @@ func\n a\n-b\n+c\n d\n@@ -90 +90 @@\n-e\n+f\n\\ No newline at end of file\n');
    expect(d.map((l) => [l.kind, l.old, l.new, l.text])).toEqual([
      [' ', 41, 41, 'a'], ['-', 42, undefined, 'b'], ['+', undefined, 42, 'c'], [' ', 43, 43, 'd'], ['@', undefined, undefined, ''], ['-', 90, undefined, 'e'], ['+', undefined, 90, 'f'],
    ]);
  });

  it('are made from two texts', () => {
    const d = diffTexts('1\n2\n3\nold\n5\n6\n7\n8', '1\n2\n3\nnew\nmore\n5\n6\n7\n8', 10);
    expect(d.map((l) => `${l.kind}${l.text}:${l.old ?? ''}/${l.new ?? ''}`)).toEqual([' 2:11/11', ' 3:12/12', '-old:13/', '+new:/13', '+more:/14', ' 5:14/15', ' 6:15/16']);
    expect(diffTexts('', 'a\nb').map((l) => l.kind)).toEqual(['+', '+']);
  });
});
