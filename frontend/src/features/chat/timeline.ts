import type { ApprovalCard, Row } from '../../lib/api/types.gen';
import { count, duration } from '../../lib/text/format';

/** What the timeline needs of a row; ChatRow has it. */
export interface TimelineRow {
  row: Row;
}

export type Entry<R extends TimelineRow> =
  | { kind: 'row'; id: string; row: R; children: R[]; tight: boolean }
  | { kind: 'fold'; id: string; rows: R[]; label: string; open: boolean }
  | { kind: 'card'; id: string; card: ApprovalCard }
  | { kind: 'border'; id: string; toTerminal: boolean; at: number };

export interface TimelineOptions {
  /** The newest turn is never folded, nor one that runs. */
  lastTurn: number;
  toggled: ReadonlySet<string>;
  cards: readonly ApprovalCard[];
}

const isStep = (r: Row) => r.type === 'tool' || r.type === 'reasoning' || r.type === 'subagent';
const isLine = (r: Row) => r.type === 'tool' && (r.kind === 'read' || r.kind === 'search' || r.kind === 'fetch' || r.kind === 'think');

/** A run of steps shorter than this is not worth a fold. */
const FOLD_FROM = 2;

/** A text or a thought that ended empty was taken back by the agent; so was a compaction whose lasting row has another id. */
const isTakenBack = (r: Row) => ((r.type === 'text' || r.type === 'reasoning') && !!r.endedAt && !r.text && !r.truncated) || (r.type === 'compaction' && r.state === 'completed' && !r.trigger);

/** The row of the host that says how a turn ended otherwise than well. */
const isBadEnd = (r: Row) => r.type === 'error' || (r.type === 'notice' && r.id === `end-${r.turn}`);

export function buildTimeline<R extends TimelineRow>(rows: readonly R[], o: TimelineOptions): Entry<R>[] {
  const ids = new Set(rows.map((r) => r.row.id));
  const children = new Map<string, R[]>();
  const top: R[] = [];
  for (const r of rows) {
    if (isTakenBack(r.row)) continue;
    const parent = r.row.parentId;
    if (parent && ids.has(parent)) {
      const list = children.get(parent);
      if (list) list.push(r);
      else children.set(parent, [r]);
    } else top.push(r);
  }
  const failedTurns = new Set(top.filter((r) => r.row.type === 'error').map((r) => r.row.turn));
  const past = o.cards.filter(isPast).toSorted((a, b) => a.at - b.at);
  const byItem = new Map<string, ApprovalCard[]>();
  const byTime: ApprovalCard[] = [];
  for (const c of past) {
    if (c.itemId && ids.has(c.itemId)) byItem.set(c.itemId, [...(byItem.get(c.itemId) ?? []), c]);
    else byTime.push(c);
  }

  const out: Entry<R>[] = [];
  let via: string | undefined = top[0]?.row.via;
  let run: R[] = [];
  const entry = (r: R): Entry<R> => {
    const before = out.at(-1);
    const tight = isLine(r.row) && before?.kind === 'row' && isLine(before.row.row);
    return { kind: 'row', id: r.row.id, row: r, children: children.get(r.row.id) ?? [], tight };
  };
  const cardsOf = (r: R) => {
    for (const c of byItem.get(r.row.id) ?? []) out.push({ kind: 'card', id: `card:${c.id}`, card: c });
  };
  const flush = () => {
    if (!run.length) return;
    const steps = run;
    run = [];
    if (steps.length < FOLD_FROM || failedTurns.has(steps[0]!.row.turn)) {
      for (const r of steps) {
        out.push(entry(r));
        cardsOf(r);
      }
      return;
    }
    const id = `fold:${steps[0]!.row.id}`;
    const open = o.toggled.has(id);
    out.push({ kind: 'fold', id, rows: steps, label: foldLabel(steps), open });
    if (open)
      for (const r of steps) {
        out.push(entry(r));
        cardsOf(r);
      }
  };

  for (const r of top) {
    while (byTime.length && byTime[0]!.at < r.row.at) {
      flush();
      const c = byTime.shift()!;
      out.push({ kind: 'card', id: `card:${c.id}`, card: c });
    }
    if (r.row.via !== via && (r.row.via === 'terminal' || via === 'terminal')) {
      flush();
      out.push({ kind: 'border', id: `border:${r.row.id}`, toTerminal: r.row.via === 'terminal', at: r.row.at });
    }
    via = r.row.via;
    if (isStep(r.row) && r.row.turn < o.lastTurn) {
      if (run.length && run[0]!.row.turn !== r.row.turn) flush();
      run.push(r);
      continue;
    }
    flush();
    out.push(entry(r));
    cardsOf(r);
  }
  flush();
  for (const c of byTime) out.push({ kind: 'card', id: `card:${c.id}`, card: c });
  return out;
}

function foldLabel(rows: readonly TimelineRow[]): string {
  const from = Math.min(...rows.map((r) => r.row.startedAt || r.row.at));
  const to = Math.max(...rows.map((r) => r.row.endedAt || r.row.at));
  const steps = count(rows.length, 'step');
  return to - from >= 1000 ? `${steps}, ${duration(to - from)}` : steps;
}
