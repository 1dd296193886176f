import type { ApprovalCard, Option, Question, QuestionAnswer, RecordedAnswer, RefusedAttempt } from '../../lib/api/types.gen';
import { cardKey } from '../../lib/stores/cards';

/** The rules of the approval card that are no drawing (DESIGN section 10). */

/** For so long after it appears, changes, or the window gets the focus it takes no key and no click. */
export const ARM_MS = 500;
/** A command longer than this scrolls, and must be read to its end first. */
export const GATE_LINES = 12;

export { cardKey };

/** The request a step away from one, round the end; the first when it is gone. */
export function stepCard(cards: readonly ApprovalCard[], id: string, by: number): string {
  const at = cards.findIndex((c) => c.id === id);
  return cards[at < 0 ? 0 : (at + by + cards.length) % cards.length]?.id ?? '';
}

/** What is said for requests nobody was told of yet; each is said once. */
export class Announcer {
  private known: Set<string> | undefined;

  /** The first call only learns what is there at the start. */
  fresh(open: readonly ApprovalCard[]): ApprovalCard[] {
    const known = this.known;
    const fresh = known ? open.filter((a) => !known.has(a.id)) : [];
    this.known = new Set([...(known ?? []), ...open.map((a) => a.id)].slice(-1000));
    return fresh;
  }
}

export class Arming {
  private since: number;
  private key = '';
  private read = false;

  constructor(now: number) {
    this.since = now;
  }

  /** The card is shown; true when it is another one than before. */
  shows(card: ApprovalCard, now: number): boolean {
    const key = cardKey(card);
    if (key === this.key) return false;
    this.key = key;
    this.since = now;
    this.read = false;
    return true;
  }

  windowFocused(now: number): void {
    this.since = now;
  }

  readToEnd(): void {
    this.read = true;
  }

  /** Milliseconds until it is armed, 0 when it is. */
  wait(now: number): number {
    return Math.max(0, this.since + ARM_MS - now);
  }

  /** Whether an answer may be taken now; needsRead is for a command that scrolls. */
  ready(now: number, needsRead: boolean): boolean {
    return this.wait(now) === 0 && (this.read || !needsRead);
  }
}

export function answerable(c: ApprovalCard): boolean {
  return (c.state === 'open' || c.state === 'unconfirmed') && !c.elsewhere;
}

/** The option at a digit key, when the card itself has the focus: 1 is the first. */
export function optionForKey(c: ApprovalCard, key: string): Option | null {
  if (!/^[1-9]$/.test(key)) return null;
  return c.options?.[Number(key) - 1] ?? null;
}

/** Where Tab enters the options: at the one that refuses, else at the last. */
export function entryOption(options: readonly Option[]): number {
  const once = options.findIndex((o) => o.kind === 'reject_once');
  if (once >= 0) return once;
  const any = options.findIndex((o) => o.kind === 'reject_always');
  return any >= 0 ? any : options.length - 1;
}

export function optionIcon(o: Option): string {
  if (o.kind === 'allow_once') return 'check';
  if (o.kind === 'allow_always') return 'checks';
  if (o.kind === 'other') return o.allowsComment ? 'edit' : 'right';
  return 'x';
}

/** How far an option reaches, in the thin form at its right. */
export function reachText(o: Option): string {
  if (o.reach === 'always') return o.savedAt ? 'always, saved' : 'always';
  if (o.reach === 'session') return 'this session';
  return o.allowsComment && o.kind === 'other' ? 'with a comment' : 'once';
}

export const reachesFurther = (o: Option): boolean => o.reach === 'always' || o.reach === 'session';

export function lineCount(text: string): number {
  return text.replace(/\n+$/, '').split('\n').length;
}

export function question(c: ApprovalCard): string {
  switch (c.kind) {
    case 'plan':
      return 'Accept this plan?';
    case 'mode':
      return 'Change the mode?';
    case 'question':
      return (c.questions?.length ?? 0) > 1 ? `${c.questions!.length} questions` : 'Question';
    case 'tool':
      return c.title || (c.preview?.command ? 'Run a command?' : c.preview?.diff ? 'Edit a file?' : 'Allow this?');
  }
}

/** One question's answer so far. */
export interface Draft {
  optionIds: string[];
  other: string;
}

export const emptyDraft = (): Draft => ({ optionIds: [], other: '' });

export function choose(q: Question, d: Draft, optionId: string): Draft {
  if (!q.multi) return { ...d, optionIds: [optionId] };
  return { ...d, optionIds: d.optionIds.includes(optionId) ? d.optionIds.filter((o) => o !== optionId) : [...d.optionIds, optionId] };
}

export const answered = (d: Draft): boolean => d.optionIds.length > 0 || d.other.trim() !== '';

export function toAnswer(d: Draft): QuestionAnswer {
  const other = d.other.trim();
  return { ...(d.optionIds.length ? { optionIds: d.optionIds } : {}), ...(other ? { other } : {}) };
}

/** Where an answer came from, in the words of a line. */
export function answeredWhere(a: Pick<RecordedAnswer, 'by' | 'where'> | undefined): string {
  if (!a) return '';
  if (a.by === 'rule' || a.by === 'auto') return '';
  if (a.by === 'window' || a.by === 'browser') return 'here';
  if (a.by === 'cli') return a.where && a.where !== 'window' ? `the command line in ${a.where}` : 'the command line';
  return a.where ?? '';
}

export interface Past {
  glyph: 'ok' | 'cancel' | 'fail';
  text: string;
  where: string;
  detail: string;
  /** The rule of the project that answered, or that this answer made. */
  rule: string;
  /** What was asked and what was answered to it. */
  pairs: { question: string; answer: string }[];
}

/** What happened to an ended card: the one line of the timeline. */
export function pastText(c: ApprovalCard): Past {
  const a = c.answer;
  const option = c.options?.find((o) => o.id === a?.optionId);
  const label = a?.label ?? option?.label ?? '';
  const where = answeredWhere(a);
  const no = option?.kind === 'reject_once' || option?.kind === 'reject_always';
  const comment = a?.comment ? `“${a.comment}”` : '';
  const past = (glyph: Past['glyph'], text: string, detail = '', more: Partial<Past> = {}): Past => ({ glyph, text, where, detail, rule: '', pairs: [], ...more });
  switch (c.state) {
    case 'answeredElsewhere': {
      const place = a?.where || c.elsewhere?.label || '';
      return past('ok', `Already answered${label ? `: ${label}` : ''}`, place ? `Answered in ${place}. An answer from here was not sent.` : 'Answered somewhere else.', { where: place ? `in ${place}` : '' });
    }
    case 'withdrawn':
      return past('cancel', 'Withdrawn', 'The turn ended before anybody answered.', { where: '' });
    case 'refused':
      return past('cancel', 'Refused', '', { where: '' });
    case 'unconfirmed':
      return past('fail', 'Not confirmed', `The agent did not confirm “${label}” before the turn ended.`);
  }
  if (a?.canceled) return past('cancel', 'Withdrawn', 'The turn was stopped before anybody answered.');
  if (a?.by === 'rule') return past('ok', 'Allowed by a rule of this project', '', { rule: a.rule ?? '' });
  if (a?.by === 'auto') return past('ok', 'Allowed automatically');
  if (c.kind === 'question') {
    if (no) return past('cancel', `You chose “${label}”`, comment);
    const pairs = (c.questions ?? []).flatMap((q) => {
      const x = a?.answers?.[q.id];
      if (!x) return [];
      const text = x.skipped ? 'skipped: the agent decides' : [...(x.optionIds ?? []).map((o) => q.options?.find((y) => y.id === o)?.label ?? o), x.other ?? ''].filter(Boolean).join(', ');
      return [{ question: q.text, answer: text }];
    });
    return past('ok', 'You answered', comment, { pairs });
  }
  if (c.kind === 'plan') return past(no ? 'cancel' : 'ok', no ? 'Plan not accepted' : 'Plan accepted', comment || (no ? '' : label));
  if (no) return past('cancel', 'You said no', comment);
  if (a?.rule) return past('ok', 'You allowed always, exactly this', comment, { rule: a.rule });
  const reach = option?.reach === 'always' ? 'You allowed always' : option?.reach === 'session' ? 'You allowed for this session' : option?.kind === 'allow_once' ? 'You allowed once' : `You chose “${label}”`;
  return past('ok', reach, comment);
}

/** An attempt that was not taken: what it was, and who it came from. */
export function refusedText(r: RefusedAttempt): { title: string; text: string } {
  const self = /\bagent\b/.test(r.where);
  const by = r.who === 'cli' ? 'the command line' : r.who;
  const who = r.where ? r.where[0]!.toUpperCase() + r.where.slice(1) : 'Nobody known';
  return { title: self ? 'Refused: an agent tried to approve itself' : 'Refused: not proved to be a person', text: `${who}${by ? `, by ${by}` : ''}. Only a person can answer.` };
}

/** The agent's words with its code in code: text between backticks. */
export function labelParts(label: string): { text: string; code: boolean }[] {
  return label
    .split(/(`[^`]+`)/)
    .filter(Boolean)
    .map((t) => (/^`[^`]+`$/.test(t) ? { text: t.slice(1, -1), code: true } : { text: t, code: false }));
}

/** The option that sends a question's answers: the agent's own, when it offers one. */
export const answerOption = (c: ApprovalCard): Option | undefined => c.options?.find((o) => o.kind === 'allow_once') ?? c.options?.find((o) => o.kind === 'allow_always');

/** The agent's other options of a question card, such as not to answer. */
export const otherOptions = (c: ApprovalCard): Option[] => (c.options ?? []).filter((o) => o !== answerOption(c));
