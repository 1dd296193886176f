import type { ApprovalCard, Row } from '../../lib/api/types.gen';
import { count, duration } from '../../lib/text/format';

/** What the timeline needs of a row; ChatRow has it. */
export interface TimelineRow {
  row: Row;
}

/** A turn that has ended, as its last line says it. */
export interface TurnSum {
  turn: number;
  /** Milliseconds from its first row to its last; 0 is unknown. */
  took: number;
  files: number;
  added: number;
  removed: number;
}

export type Entry<R extends TimelineRow> =
  | { kind: 'row'; id: string; row: R; depth: number; steps: number; tight: boolean; answered?: ApprovalCard }
  | { kind: 'fold'; id: string; rows: R[]; label: string; open: boolean }
  | { kind: 'card'; id: string; card: ApprovalCard }
  | { kind: 'border'; id: string; toTerminal: boolean; at: number }
  | { kind: 'none'; id: string; depth: number }
  | { kind: 'end'; id: string; sum: TurnSum };

export interface TimelineOptions {
  /** The number of the newest turn. */
  lastTurn: number;
  /** It runs: nothing of it is folded, and it has no end. */
  running?: boolean;
  /** It ended well and nobody reads in it: its steps may fold. */
  foldLast?: boolean;
  toggled: ReadonlySet<string>;
  /** The requests that have ended; open ones are in the dock. */
  cards: readonly ApprovalCard[];
}

const isStep = (r: Row) => r.type === 'tool' || r.type === 'reasoning' || r.type === 'subagent';
const isLine = (r: Row) => r.type === 'tool' && (r.kind === 'read' || r.kind === 'search' || r.kind === 'fetch' || r.kind === 'think');

/** A run of steps shorter than this is not worth a fold. */
const FOLD_FROM = 2;

/** A text or a thought that ended empty was taken back by the agent, and so was a row that says it of itself. */
const isTakenBack = (r: Row) => !!r.takenBack || ((r.type === 'text' || r.type === 'reasoning') && !!r.endedAt && !r.text && !r.truncated);

/** The row of the host that says how a turn ended otherwise than well. */
const isBadEnd = (r: Row) => r.type === 'error' || (r.type === 'notice' && r.id === `end-${r.turn}`);

export function buildTimeline<R extends TimelineRow>(rows: readonly R[], o: TimelineOptions): Entry<R>[] {
  const ids = new Set(rows.map((r) => r.row.id));
  const children = new Map<string, R[]>();
  const top: R[] = [];
  for (const r of rows) {
    if (isTakenBack(r.row)) continue;
    const parent = r.row.parentId;
    if (parent && parent !== r.row.id && ids.has(parent)) {
      const list = children.get(parent);
      if (list) list.push(r);
      else children.set(parent, [r]);
    } else top.push(r);
  }
  const turns = summed(rows, top);
  const past = o.cards.toSorted((a, b) => a.at - b.at);
  const byItem = new Map<string, ApprovalCard[]>();
  const byTime: ApprovalCard[] = [];
  for (const c of past) {
    if (c.itemId && ids.has(c.itemId)) byItem.set(c.itemId, [...(byItem.get(c.itemId) ?? []), c]);
    else byTime.push(c);
  }

  const out: Entry<R>[] = [];
  let via: string | undefined = top[0]?.row.via;
  let run: R[] = [];
  let turn = top[0]?.row.turn ?? 0;

  /** A row, the requests that ended at it, and what it holds when it is open. */
  const put = (r: R, depth: number, seen: ReadonlySet<string>) => {
    const id = r.row.id;
    const kids = children.get(id) ?? [];
    const cards = byItem.get(id) ?? [];
    const before = out.at(-1);
    const tight = isLine(r.row) && before?.kind === 'row' && before.depth === depth && isLine(before.row.row);
    out.push({ kind: 'row', id, row: r, depth, steps: kids.length, tight, answered: cards.at(-1) });
    for (const c of cards) out.push({ kind: 'card', id: `card:${c.id}/${c.revision}`, card: c });
    if (r.row.type !== 'subagent' || !o.toggled.has(id) || seen.has(id)) return;
    const inside = new Set(seen).add(id);
    for (const k of kids) put(k, depth + 1, inside);
    if (!kids.length) out.push({ kind: 'none', id: `none:${id}`, depth: depth + 1 });
  };
  /** goesOn: the agent said something after these steps. */
  const flush = (goesOn: boolean) => {
    if (!run.length) return;
    const steps = run;
    run = [];
    const n = steps[0]!.row.turn;
    const sum = turns.get(n);
    const ended = n < o.lastTurn || (!o.running && o.foldLast === true && goesOn);
    if (steps.length < FOLD_FROM || !ended || sum?.bad) {
      for (const r of steps) put(r, 0, NONE);
      return;
    }
    const id = `fold:${steps[0]!.row.id}`;
    const open = o.toggled.has(id);
    out.push({ kind: 'fold', id, rows: steps, label: foldLabel(steps), open });
    if (open) for (const r of steps) put(r, 0, NONE);
    else for (const r of steps) for (const c of byItem.get(r.row.id) ?? []) if (stays(c)) out.push({ kind: 'card', id: `card:${c.id}/${c.revision}`, card: c });
  };
  const end = (n: number) => {
    const sum = turns.get(n);
    if (!sum?.answered || (n === o.lastTurn && o.running) || n > o.lastTurn) return;
    out.push({ kind: 'end', id: `end:${n}`, sum });
  };

  for (const r of top) {
    while (byTime.length && byTime[0]!.at < r.row.at) {
      flush(true);
      const c = byTime.shift()!;
      out.push({ kind: 'card', id: `card:${c.id}/${c.revision}`, card: c });
    }
    if (r.row.turn !== turn) {
      flush(false);
      end(turn);
      turn = r.row.turn;
    }
    if (r.row.via !== via && (r.row.via === 'terminal' || via === 'terminal')) {
      flush(true);
      out.push({ kind: 'border', id: `border:${r.row.id}`, toTerminal: r.row.via === 'terminal', at: r.row.at });
    }
    via = r.row.via;
    if (isStep(r.row)) {
      run.push(r);
      continue;
    }
    flush(r.row.type === 'text');
    put(r, 0, NONE);
  }
  flush(false);
  for (const c of byTime) out.push({ kind: 'card', id: `card:${c.id}/${c.revision}`, card: c });
  if (top.length) end(turn);
  return out;
}

/** What a person decided stays in sight when its step folds; that something was simply allowed goes with the step. */
function stays(c: ApprovalCard): boolean {
  if (c.kind !== 'tool' || c.refused?.length || (c.state !== 'sent' && c.state !== 'confirmed')) return true;
  const a = c.answer;
  if (!a || a.canceled || a.comment) return true;
  if (a.by === 'rule' || a.by === 'auto') return false;
  return !!a.rule || c.options?.find((o) => o.id === a.optionId)?.kind !== 'allow_once';
}

const NONE: ReadonlySet<string> = new Set();

interface Sum extends TurnSum {
  /** It failed, was stopped, or was cut off by the end of the host: it is never folded. */
  bad: boolean;
  /** The agent did something in it. */
  answered: boolean;
}

function summed<R extends TimelineRow>(rows: readonly R[], top: readonly R[]): Map<number, Sum> {
  const turns = new Map<number, Sum>();
  const from = new Map<number, number>();
  const paths = new Map<number, Set<string>>();
  for (const { row } of rows) {
    let s = turns.get(row.turn);
    if (!s) turns.set(row.turn, (s = { turn: row.turn, took: 0, files: 0, added: 0, removed: 0, bad: false, answered: false }));
    const start = Math.min(from.get(row.turn) ?? Infinity, row.at || Infinity);
    from.set(row.turn, start);
    s.took = Math.max(s.took, Math.max(row.at, row.endedAt ?? 0) - start);
    if (row.type !== 'user') s.answered = true;
    const d = row.detail;
    const path = row.state === 'completed' ? (d?.edit?.path ?? d?.write?.path) : undefined;
    if (!path) continue;
    const set = paths.get(row.turn) ?? new Set();
    paths.set(row.turn, set.add(path));
    s.files = set.size;
    s.added += d?.edit?.added ?? (d?.write?.content ? d.write.content.replace(/\n$/, '').split('\n').length : 0);
    s.removed += d?.edit?.removed ?? 0;
  }
  for (const { row } of top) if (isBadEnd(row) || (isStep(row) && row.state === 'canceled')) turns.get(row.turn)!.bad = true;
  for (const s of turns.values()) if (!Number.isFinite(s.took)) s.took = 0;
  return turns;
}

function foldLabel(rows: readonly TimelineRow[]): string {
  const from = Math.min(...rows.map((r) => r.row.startedAt || r.row.at));
  const to = Math.max(...rows.map((r) => r.row.endedAt || r.row.at));
  const steps = count(rows.length, 'step');
  return to - from >= 1000 ? `${steps}, ${duration(to - from)}` : steps;
}
