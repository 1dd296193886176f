import { describe, expect, it } from 'vitest';
import type { ApprovalCard, Option } from '../../lib/api/types.gen';
import { Announcer, Arming, answerable, choose, emptyDraft, entryOption, labelParts, optionForKey, pastText, reachText, refusedText, stepCard, toAnswer } from './card';

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

describe('what a line of the timeline says beside the answer', () => {
  it('who answered: a person here, elsewhere, a rule, the automatic mode', () => {
    const where = (by: string, at = '') => pastText(card({ state: 'confirmed', answer: { optionId: 'y', by, where: at, at: 1, rule: by === 'rule' ? 'r1' : undefined } }));
    expect([where('window', 'window').where, where('browser', 'xterm').where, where('cli', 'kitty').where]).toEqual(['here', 'here', 'the command line in kitty']);
    expect(where('rule')).toMatchObject({ text: 'Allowed by a rule of this project', rule: 'r1', where: '' });
    expect(where('auto')).toMatchObject({ text: 'Allowed automatically', rule: '' });
    expect(pastText(card({ state: 'confirmed', answer: { optionId: 'y', by: 'window', at: 1, rule: 'r2' } }))).toMatchObject({ text: 'You allowed always, exactly this', rule: 'r2' });
  });

  it('each question with its own answer; skip is said as what it is', () => {
    const questions = [{ id: 'q', text: 'Which?', options: [{ id: 'a', label: 'api' }] }, { id: 'r', text: 'When?', options: [] }];
    const p = pastText(card({ kind: 'question', questions, state: 'confirmed', answer: { by: 'window', at: 1, answers: { q: { optionIds: ['a'], other: 'soon' }, r: { skipped: true } } } }));
    expect(p.pairs).toEqual([{ question: 'Which?', answer: 'api, soon' }, { question: 'When?', answer: 'skipped: the agent decides' }]);
  });

  it('an answer that was never confirmed is not told as one that arrived', () => {
    expect(pastText(card({ state: 'unconfirmed', answer: { optionId: 'y', label: 'Yes', by: 'window', at: 1 } }))).toMatchObject({ glyph: 'fail', text: 'Not confirmed' });
  });

  it('an attempt of an agent is told from one of somebody unknown', () => {
    expect(refusedText({ who: 'cli', where: 'process 7 runs below the agent claude (process 5)', at: 1 })).toEqual({ title: 'Refused: an agent tried to approve itself', text: 'Process 7 runs below the agent claude (process 5), by the command line. Only a person can answer.' });
    expect(refusedText({ who: 'cli', where: 'process 7 descends from no terminal', at: 1 }).title).toBe('Refused: not proved to be a person');
  });

  it('the agent’s words keep their code', () => {
    expect(labelParts('Yes, and `go test` in `a`')).toEqual([{ text: 'Yes, and ', code: false }, { text: 'go test', code: true }, { text: ' in ', code: false }, { text: 'a', code: true }]);
    expect(labelParts('one ` alone')).toEqual([{ text: 'one ` alone', code: false }]);
  });
});
