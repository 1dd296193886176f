/** What this window shows: tabs in one or two panes, and what is over them. Kept over a restart. */

export interface Tab {
  kind: 'chat' | 'terminal';
  id: string;
}

export interface Pane {
  tabs: Tab[];
  active: number;
}

export type View = 'work' | 'inbox' | 'settings' | 'welcome';
export type SettingsPage = 'general' | 'agents' | 'approvals' | 'terminal' | 'shortcuts' | 'about';

export interface Kept {
  v: 1;
  panes: Pane[];
  focused: number;
  view: View;
  split: number;
  side: number;
  sideTab: 'agents' | 'chats';
  toggled: string[];
  welcomed?: boolean;
}

export const SIDE_MIN = 240;
export const SIDE_MAX = 480;

export const sameTab = (a: Tab, b: Tab) => a.kind === b.kind && a.id === b.id;

function validTab(t: unknown): t is Tab {
  const x = t as Tab;
  return !!x && (x.kind === 'chat' || x.kind === 'terminal') && typeof x.id === 'string';
}

/** What was kept, without what does not fit: a kept state may come from another version. */
export function restored(value: unknown): Kept | null {
  const k = value as Partial<Kept> | null;
  if (!k || k.v !== 1 || !Array.isArray(k.panes)) return null;
  const panes = k.panes.slice(0, 2).map((p): Pane => {
    const tabs = Array.isArray(p?.tabs) ? p.tabs.filter(validTab).map((t) => ({ kind: t.kind, id: t.id })) : [];
    return { tabs, active: Math.min(Math.max(0, Number(p?.active) || 0), Math.max(0, tabs.length - 1)) };
  });
  if (!panes.length) panes.push({ tabs: [], active: 0 });
  return {
    v: 1,
    panes,
    focused: Math.min(Number(k.focused) || 0, panes.length - 1),
    view: k.view === 'inbox' ? 'inbox' : 'work',
    split: Math.min(0.8, Math.max(0.2, Number(k.split) || 0.6)),
    side: Math.min(SIDE_MAX, Math.max(SIDE_MIN, Number(k.side) || 304)),
    sideTab: k.sideTab === 'chats' ? 'chats' : 'agents',
    toggled: Array.isArray(k.toggled) ? k.toggled.filter((t) => typeof t === 'string').slice(-500) : [],
    welcomed: k.welcomed === true,
  };
}

export class WindowState {
  panes = $state<Pane[]>([{ tabs: [], active: 0 }]);
  focused = $state(0);
  view = $state<View>('work');
  settingsPage = $state<SettingsPage>('general');
  split = $state(0.6);
  side = $state(304);
  sideOpen = $state(true);
  drawer = $state(false);
  sideTab = $state<'agents' | 'chats'>('agents');
  toggled = $state.raw<ReadonlySet<string>>(new Set());
  welcomed = $state(false);

  get pane(): Pane {
    return this.panes[this.focused] ?? this.panes[0]!;
  }

  get tab(): Tab | undefined {
    return this.pane.tabs[this.pane.active];
  }

  restore(k: Kept): void {
    this.panes = k.panes;
    this.focused = k.focused;
    this.view = k.view;
    this.split = k.split;
    this.side = k.side;
    this.sideTab = k.sideTab;
    this.toggled = new Set(k.toggled);
    this.welcomed = k.welcomed ?? false;
  }

  keep(): Kept {
    return {
      v: 1,
      panes: $state.snapshot(this.panes),
      focused: this.focused,
      view: this.view,
      split: this.split,
      side: this.side,
      sideTab: this.sideTab,
      toggled: [...this.toggled],
      welcomed: this.welcomed,
    };
  }

  toggle(id: string): void {
    const next = new Set(this.toggled);
    if (!next.delete(id)) next.add(id);
    this.toggled = next;
  }

  find(tab: Tab): { pane: number; at: number } | null {
    for (let p = 0; p < this.panes.length; p++) {
      const at = this.panes[p]!.tabs.findIndex((t) => sameTab(t, tab));
      if (at >= 0) return { pane: p, at };
    }
    return null;
  }

  /** Shows a tab where it is, or opens it; beside asks for the other split. */
  open(tab: Tab, how: { beside?: boolean } = {}): void {
    this.view = 'work';
    this.drawer = false;
    const found = this.find(tab);
    if (found) {
      this.panes[found.pane]!.active = found.at;
      this.focused = found.pane;
      return;
    }
    if (how.beside && this.panes.length === 1 && this.pane.tabs.length) {
      this.panes.push({ tabs: [], active: 0 });
      this.focused = 1;
    } else if (how.beside && this.panes.length === 2) this.focused = 1 - this.focused;
    const pane = this.pane;
    pane.tabs.push(tab);
    pane.active = pane.tabs.length - 1;
  }

  close(tab: Tab): void {
    const found = this.find(tab);
    if (!found) return;
    const pane = this.panes[found.pane]!;
    pane.tabs.splice(found.at, 1);
    if (pane.active > found.at || pane.active >= pane.tabs.length) pane.active = Math.max(0, pane.active - 1);
    if (!pane.tabs.length && this.panes.length === 2) {
      this.panes.splice(found.pane, 1);
      this.focused = 0;
    }
  }

  select(pane: number, at: number): void {
    const p = this.panes[pane];
    if (!p || at < 0 || at >= p.tabs.length) return;
    p.active = at;
    this.focused = pane;
  }

  step(by: number): void {
    const p = this.pane;
    if (p.tabs.length) p.active = (p.active + by + p.tabs.length) % p.tabs.length;
  }

  /** Opens the other split with the active tab's neighbour, or joins the two. */
  toggleSplit(): void {
    if (this.panes.length === 2) {
      const [a, b] = this.panes as [Pane, Pane];
      const active = this.tab;
      const tabs = [...a.tabs, ...b.tabs];
      this.panes = [{ tabs, active: Math.max(0, active ? tabs.findIndex((t) => sameTab(t, active)) : 0) }];
      this.focused = 0;
      return;
    }
    const p = this.pane;
    const tab = this.tab;
    if (!tab || p.tabs.length < 2) return;
    this.close(tab);
    this.panes.push({ tabs: [tab], active: 0 });
    this.focused = 1;
  }
}
