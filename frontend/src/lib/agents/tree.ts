import { rowState, type Agent } from './row';
import type { SubagentInfo } from '../api/types.gen';

/** The agents list as flat nodes for a virtual tree. */
export type Node =
  | { kind: 'group'; id: string; label: string; note: string; open: boolean; needs: boolean; level: 1 }
  | { kind: 'worktree'; id: string; label: string; linked: boolean; level: 2 }
  | { kind: 'row'; id: string; agent: Agent; three: boolean; level: 2 | 3; subs: number; subsOpen: boolean }
  | { kind: 'sub'; id: string; sub: SubagentInfo; last: boolean; level: 4 }
  | { kind: 'fold'; id: string; label: string; open: boolean; level: 2 };

export interface TreeOptions {
  now: number;
  /** Folded group, fold and sub-agent ids; idle folds are in it when they are open. */
  toggled: ReadonlySet<string>;
  /** The inbox shows the needs-you group: here it is one line. */
  inboxOpen: boolean;
  /** While the pointer or the keyboard is in the list: where each row stood. */
  held?: ReadonlyMap<string, boolean>;
  compact?: boolean;
  filter?: string;
}

/** More idle rows than this in a group, idle for so long, are folded. */
const IDLE_FOLD_AFTER = 12 * 3600_000;
export const NEEDS_SHOWN = 5;

export function needsYou(a: Agent): boolean {
  return rowState(a).needsYou;
}

function matches(a: Agent, filter: string): boolean {
  const text = `${a.session.title} ${a.session.project.name} ${a.session.key.harness} ${a.session.project.branch ?? ''}`.toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((w) => text.includes(w));
}

const byStart = (a: Agent, b: Agent) => (a.session.startedAt ?? 0) - (b.session.startedAt ?? 0) || (a.id < b.id ? -1 : 1);

export function buildTree(agents: readonly Agent[], o: TreeOptions): Node[] {
  const shown = o.filter ? agents.filter((a) => matches(a, o.filter!)) : agents;
  const inNeeds = (a: Agent) => o.held?.get(a.id) ?? needsYou(a);
  const out: Node[] = [];

  const needs = shown.filter(inNeeds).sort((a, b) => a.session.stateSince - b.session.stateSince || (a.id < b.id ? -1 : 1));
  if (needs.length) {
    const open = !o.inboxOpen && !o.toggled.has('needs');
    out.push({ kind: 'group', id: 'needs', label: 'Needs you', note: `${needs.length}${o.inboxOpen ? ', in the Inbox' : ''}`, open, needs: true, level: 1 });
    if (open) {
      for (const a of needs.slice(0, NEEDS_SHOWN)) out.push({ kind: 'row', id: a.id, agent: a, three: !o.compact, level: 2, subs: 0, subsOpen: false });
      const more = needs.length - NEEDS_SHOWN;
      if (more > 0) out.push({ kind: 'fold', id: 'needs-more', label: `${more} more in the Inbox`, open: false, level: 2 });
    }
  }

  const projects = new Map<string, Agent[]>();
  for (const a of shown) {
    if (inNeeds(a)) continue;
    const key = a.session.project.root || '';
    const list = projects.get(key);
    if (list) list.push(a);
    else projects.set(key, [a]);
  }
  const groups = [...projects].map(([root, list]) => ({ root, name: list[0]!.session.project.name || 'No folder', list }));
  // "No folder" stands last; equal names are told apart by their folder.
  groups.sort((a, b) => Number(a.root === '') - Number(b.root === '') || a.name.localeCompare(b.name) || (a.root < b.root ? -1 : 1));

  for (const g of groups) {
    const id = `p:${g.root}`;
    const working = g.list.filter((a) => a.session.state === 'running' && !a.session.stale).length;
    const open = !o.toggled.has(id);
    const note = working ? `${working} working` : g.root === '' ? 'confined' : '';
    out.push({ kind: 'group', id, label: g.name, note, open, needs: false, level: 1 });
    if (!open) continue;

    const trees = new Map<string, Agent[]>();
    for (const a of g.list) {
      const key = a.session.project.worktree ?? '';
      const list = trees.get(key);
      if (list) list.push(a);
      else trees.set(key, [a]);
    }
    const keys = [...trees.keys()].sort((a, b) => Number(a !== '') - Number(b !== '') || a.localeCompare(b));
    const oldIdle: Agent[] = [];
    for (const key of keys) {
      const list = trees.get(key)!.sort(byStart);
      const branch = list.find((a) => a.session.project.branch)?.session.project.branch ?? '';
      const fresh = list.filter((a) => !isOldIdle(a, o.now));
      oldIdle.push(...list.filter((a) => isOldIdle(a, o.now)));
      if (!fresh.length) continue;
      if (g.root && (key || branch)) out.push({ kind: 'worktree', id: `w:${g.root}:${key}`, label: key || branch, linked: key !== '', level: 2 });
      for (const a of fresh) pushRow(out, a, o);
    }
    if (oldIdle.length) {
      const foldId = `idle:${g.root}`;
      const foldOpen = o.toggled.has(foldId);
      out.push({ kind: 'fold', id: foldId, label: `${oldIdle.length} idle`, open: foldOpen, level: 2 });
      if (foldOpen) for (const a of oldIdle.sort(byStart)) pushRow(out, a, o);
    }
  }
  return out;
}

function isOldIdle(a: Agent, now: number): boolean {
  return rowState(a).quiet && now - a.session.stateSince > IDLE_FOLD_AFTER;
}

function pushRow(out: Node[], a: Agent, o: TreeOptions): void {
  const subs = a.session.subagents ?? [];
  const subsOpen = subs.length > 0 && !o.toggled.has(`s:${a.id}`);
  out.push({ kind: 'row', id: a.id, agent: a, three: false, level: 3, subs: subs.length, subsOpen });
  if (!subsOpen || o.compact) return;
  subs.forEach((sub, i) => out.push({ kind: 'sub', id: `${a.id}/${sub.id}`, sub, last: i === subs.length - 1, level: 4 }));
}
