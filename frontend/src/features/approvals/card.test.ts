import { describe, expect, it } from 'vitest';
import type { ApprovalCard, Option } from '../../lib/api/types.gen';
import { Announcer, Arming, answerable, choose, emptyDraft, entryOption, optionForKey, pastText, reachText, stepCard, toAnswer } from './card';

const option = (id: string, kind: Option['kind'], more: Partial<Option> = {}): Option => ({ id, label: id, kind, reach: 'once', ...more });
const card = (more: Partial<ApprovalCard> = {}): ApprovalCard => ({
  id: 'a', kind: 'tool', title: 'Run?', chatId: 'c', turn: 1, at: 0, revision: 1, state: 'open',
  options: [option('y', 'allow_once'), option('ya', 'allow_always', { reach: 'always', savedAt: 'settings' }), option('n', 'reject_once')], ...more,
});

describe('an approval takes no answer that was not meant', () => {
  it('waits 500 ms after it appears, changes, or the window gets the focus', () => {
    const a = new Arming(0);
    expect(a.shows(card(), 1000)).toBe(true);
    expect([a.ready(1499, false), a.ready(1500, false)]).toEqual([false, true]);
    expect(a.shows(card(), 1600)).toBe(false);
    expect(a.ready(1600, false)).toBe(true);
    expect(a.shows(card({ revision: 2 }), 2000)).toBe(true);
    expect([a.wait(2000), a.ready(2499, false), a.ready(2500, false)]).toEqual([500, false, true]);
    a.windowFocused(3000);
    expect([a.ready(3400, false), a.ready(3500, false)]).toEqual([false, true]);
  });

  it('waits until a long command was read, and again when it changed', () => {
    const a = new Arming(0);
    a.shows(card(), 0);
    expect(a.ready(9000, true)).toBe(false);
    a.readToEnd();
    expect(a.ready(9000, true)).toBe(true);
    a.shows(card({ revision: 2 }), 9000);
    expect(a.ready(99_000, true)).toBe(false);
  });

  it('answers by digits only, never by Enter', () => {
    expect(optionForKey(card(), '3')?.id).toBe('n');
    for (const key of ['Enter', ' ', 'y', '0', '4', '11', 'Escape']) expect(optionForKey(card(), key)).toBeNull();
  });

  it('lets Tab enter at the refusing option', () => {
    expect(entryOption(card().options!)).toBe(2);
    expect(entryOption([option('a', 'reject_always'), option('b', 'other')])).toBe(0);
    expect(entryOption([option('a', 'other'), option('b', 'other')])).toBe(1);
  });

  it('has no options where it cannot be answered', () => {
    expect(answerable(card())).toBe(true);
    expect(answerable(card({ state: 'unconfirmed' }))).toBe(true);
    expect(answerable(card({ elsewhere: { kind: 'terminal', canFocus: true } }))).toBe(false);
    for (const state of ['sent', 'confirmed', 'withdrawn', 'answeredElsewhere', 'refused'] as const) expect(answerable(card({ state }))).toBe(false);
  });

  it('says how far an option reaches', () => {
    expect(card().options!.map(reachText)).toEqual(['once', 'always, saved', 'once']);
    expect(reachText(option('s', 'allow_always', { reach: 'session' }))).toBe('this session');
  });
});

describe('questions', () => {
  const q = { id: 'q', text: '?', options: [{ id: 'a', label: 'A' }, { id: 'b', label: 'B' }] };
  it('one or several', () => {
    expect(choose(q, choose(q, emptyDraft(), 'a'), 'b').optionIds).toEqual(['b']);
    const m = { ...q, multi: true };
    expect(choose(m, choose(m, choose(m, emptyDraft(), 'a'), 'b'), 'a').optionIds).toEqual(['b']);
    expect(toAnswer({ optionIds: ['a'], other: ' x ' })).toEqual({ optionIds: ['a'], other: 'x' });
  });
});

describe('after the answer', () => {
  it.each([
    [{ state: 'confirmed', answer: { optionId: 'y', by: 'window', at: 1 } }, 'You allowed once', ''],
    [{ state: 'confirmed', answer: { optionId: 'ya', by: 'window', at: 1 } }, 'You allowed always', ''],
    [{ state: 'sent', answer: { optionId: 'n', comment: 'Use pnpm', by: 'window', at: 1 } }, 'You said no', '“Use pnpm”'],
    [{ state: 'answeredElsewhere', answer: { optionId: 'y', label: 'Yes', where: 'kitty', by: 'terminal', at: 1 } }, 'Already answered: Yes', 'Answered in kitty. An answer from here was not sent.'],
    [{ state: 'withdrawn' }, 'Withdrawn', 'The turn ended before anybody answered.'],
    [{ state: 'confirmed', answer: { canceled: true, by: 'host', at: 1 } }, 'Withdrawn', 'The turn was stopped before anybody answered.'],
  ] as const)('%j', (more, text, detail) => {
    const p = pastText(card(more as Partial<ApprovalCard>));
    expect([p.text, p.detail]).toEqual([text, detail]);
  });
});

describe('several requests of one chat', () => {
  const three = ['a', 'b', 'c'].map((id) => card({ id }));
  it('are a step away in both directions, round the end', () => {
    expect(['b', 'c', 'a'].map((want, i) => stepCard(three, three[i]!.id, 1) === want)).toEqual([true, true, true]);
    expect(stepCard(three, 'a', -1)).toBe('c');
    expect(stepCard(three, 'gone', 1)).toBe('a');
    expect(stepCard([], 'a', 1)).toBe('');
  });
  it('are announced once each, and not what was there at the start', () => {
    const a = new Announcer();
    expect(a.fresh(three.slice(0, 1))).toEqual([]);
    expect(a.fresh(three).map((c) => c.id)).toEqual(['b', 'c']);
    expect(a.fresh(three.slice(1))).toEqual([]);
    // Back after a reconnect: it was said already.
    expect(a.fresh(three)).toEqual([]);
  });
});
