import { createContext, untrack } from 'svelte';
import { agentRows, sessionId, type Agent } from '../agents/row';
import { needsYou } from '../agents/tree';
import type { Client, Status } from '../api/client';
import { DISCONNECTED, ApiError, reason } from '../api/errors';
import { showWindow } from '../api/outside';
import type { ApprovalCard, Attention, Attachment, ChatSummary, Harness, HostInfo, Raise, Session, Settings, Terminal } from '../api/types.gen';
import { createChat, type ChatStore } from './chat.svelte';
import { createClock, type Clock } from './clock.svelte';
import { createList, createValue } from './list.svelte';
import { preferences, PATHS, type Preferences } from './settings';
import { Toasts } from './toasts.svelte';
import { restored, WindowState, type Tab } from './window.svelte';

export type Dialog =
  | { kind: 'newChat'; harness?: string; cwd?: string }
  | { kind: 'trust'; harness: string; cwd: string; then: () => void }
  | { kind: 'continue'; chatId: string }
  | { kind: 'takeOver'; chatId: string }
  | { kind: 'removeChat'; chatId: string }
  | { kind: 'exportChat'; chatId: string }
  | { kind: 'search'; text?: string; cwd?: string }
  | { kind: 'history'; root?: string }
  | { kind: 'closeTerminal'; terminalId: string }
  | { kind: 'quit'; runningTurns: number; terminals: number };

const WINDOW_KEY = 'window';
const DRAFTS_KEY = 'drafts';
const ATTACHED_KEY = 'attached';

/** All the state of one window, made once and handed down by context. */
export class App {
  readonly chats;
  readonly sessions;
  readonly terminals;
  readonly approvals;
  readonly harnesses;
  readonly settings;
  readonly host;
  readonly attention;
  readonly win = new WindowState();
  readonly toasts = new Toasts();
  readonly clock: Clock;
  status = $state.raw<Status>({ state: 'connecting', attempt: 0, since: 0 });
  dialog = $state.raw<Dialog | null>(null);
  palette = $state(false);
  restored = $state(false);
  /** What was found and is to be shown: a row of a chat, with the words that were searched for. */
  found = $state.raw<{ chatId: string; itemId: string; words: string } | null>(null);
  /** The chat whose composer gets the focus once it is shown. */
  focusOn = $state.raw('');
  /** The chat that shows its changes; turn 0 is all of it. */
  changesOn = $state.raw<{ id: string; turn: number } | null>(null);
  drafts = $state<Record<string, string>>({});
  /** What is attached to the drafts; the host keeps it. */
  attached = $state<Record<string, Attachment[]>>({});
  readonly agents: Agent[] = $derived.by(() => agentRows(this.sessions.items, this.chats.items, this.approvals.items, this.attention.value?.muted ?? {}));
  readonly needing: Agent[] = $derived.by(() => this.agents.filter(needsYou));
  readonly prefs: Preferences = $derived.by(() => preferences(this.settings.value));
  private readonly open = new Map<string, { store: ChatStore; users: number }>();
  private saves = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(
    readonly client: Client,
    options: { clock?: Clock } = {},
  ) {
    this.clock = options.clock ?? createClock();
    this.sessions = createList<Session>(client, 'sessions', sessionId, undefined, async (cursor) => {
      const r = await client.call('sessions.list', { cursor });
      return { items: r.sessions, next: r.next };
    });
    this.chats = createList<ChatSummary>(client, 'chats', (c) => c.id, undefined, async (cursor) => {
      const r = await client.call('chats.list', { cursor });
      return { items: r.chats, next: r.next };
    });
    this.terminals = createList<Terminal>(client, 'terminals', (t) => t.id);
    this.approvals = createList<ApprovalCard>(client, 'approvals', (a) => a.id);
    this.harnesses = createList<Harness>(client, 'harnesses', (h) => h.harness);
    this.settings = createValue<Settings>(client, 'settings');
    this.attention = createValue<Attention>(client, 'attention');
    this.host = createValue<HostInfo>(client, 'host', (e) => e.type === 'raise' && this.raised(e.data as Raise));
    client.onStatus((s) => {
      const first = this.status.state !== 'open' && s.state === 'open';
      this.status = s;
      if (first && !this.restored) void this.restore();
    });
  }

  get online(): boolean {
    return this.status.state === 'open';
  }

  harness(id: string): Harness | undefined {
    return this.harnesses.get(id);
  }

  mark(id: string): string {
    return this.harness(id)?.mark ?? id.slice(0, 2).toUpperCase();
  }

  name(id: string): string {
    return this.harness(id)?.displayName ?? id;
  }

  get home(): string {
    return this.host.value?.userHome ?? this.status.host?.userHome ?? '';
  }

  /** A chat's store, shared by all who show it. */
  chat(id: string): ChatStore {
    let entry = this.open.get(id);
    if (!entry) this.open.set(id, (entry = { store: untrack(() => createChat(this.client, id)), users: 0 }));
    return entry.store;
  }

  /** Keeps a chat's store alive until the returned function is called. */
  use(id: string): () => void {
    this.chat(id);
    const entry = this.open.get(id)!;
    entry.users++;
    return () => {
      // A remount in the same moment (a moved tab) keeps the store.
      entry.users--;
      queueMicrotask(() => {
        if (entry.users > 0 || this.open.get(id) !== entry) return;
        entry.store.close();
        this.open.delete(id);
      });
    };
  }

  // acts

  /** Runs a call and shows why it failed; true when it worked. */
  async act(what: string, run: () => Promise<unknown>): Promise<boolean> {
    try {
      await run();
      return true;
    } catch (e) {
      this.toasts.error(what, e instanceof ApiError && e.code === DISCONNECTED ? 'The host is not connected. Nothing was done here; look again when it is back.' : reason(e) + (e instanceof ApiError && e.fix ? `\n${e.fix}` : ''));
      return false;
    }
  }

  /** A person opens it: the focus goes where they can write. */
  openTab(tab: Tab, how: { beside?: boolean } = {}): void {
    this.win.open(tab, how);
    this.focusOn = tab.kind === 'chat' ? tab.id : '';
  }

  /** Opens a chat at what was found in it. */
  showFound(chatId: string, itemId: string, words: string): void {
    // In the chat one piece of text is looked for: the longest that was asked for.
    const pieces = words.split('"').flatMap((p, i) => (i % 2 ? [p.trim()] : p.split(/\s+/)));
    this.found = { chatId, itemId, words: pieces.reduce((a, b) => (b.length > a.length ? b : a), '') };
    this.win.open({ kind: 'chat', id: chatId });
    this.focusOn = '';
  }

  /** Puts a chat away; the message takes it back. */
  async archive(chatId: string): Promise<boolean> {
    const set = (value: boolean) => this.act(value ? 'Could not archive the chat' : 'Could not bring the chat back', () => this.client.call('chats.set', { chatId, name: 'archived', value }));
    if (!(await set(true))) return false;
    this.win.close({ kind: 'chat', id: chatId });
    this.toasts.show({ kind: 'info', text: 'Chat archived', action: { label: 'Undo', run: () => void set(false).then((ok) => ok && this.openTab({ kind: 'chat', id: chatId })) } });
    return true;
  }

  /** Opens a row: its chat, or its session as a read-only mirror. */
  async openAgent(a: Agent): Promise<void> {
    const s = a.session;
    if (s.unread || s.state === 'failed') void this.client.call('sessions.acknowledge', { key: s.key }).catch(() => {});
    const chatId = a.chat?.id ?? s.chatId;
    if (chatId) return this.openTab({ kind: 'chat', id: chatId });
    await this.act('Could not open the session', async () => {
      const { chat } = await this.client.call('sessions.open', { key: s.key });
      this.openTab({ kind: 'chat', id: chat.id });
    });
  }

  /** Until a time in ms, 0 for ever, one in the past not any more. Only what is muted is unmuted. */
  mute(targets: readonly string[], until: number): void {
    const known = this.attention.value?.muted ?? {};
    for (const target of targets) {
      if (until === 1 && !Object.hasOwn(known, target)) continue;
      void this.act('Could not mute it', () => this.client.call('attention.set', { target, until }));
    }
  }

  /** What is new in these rows was seen. */
  acknowledge(list: readonly Agent[]): void {
    for (const a of list) {
      if (a.id.startsWith('chat:')) void this.client.call('chats.seen', { chatId: a.chat!.id }).catch(() => {});
      else void this.client.call('sessions.acknowledge', { key: a.session.key }).catch(() => {});
    }
  }

  async goToTerminal(a: Agent): Promise<void> {
    if (a.session.place.terminalId) return this.openTab({ kind: 'terminal', id: a.session.place.terminalId }, { beside: true });
    await this.act(`Could not go to ${a.session.place.label || 'its terminal'}`, async () => {
      const r = await this.client.call('sessions.focus', { key: a.session.key });
      if (r.terminalId) this.openTab({ kind: 'terminal', id: r.terminalId }, { beside: true });
      else if (r.exact !== 'exact') this.toasts.error(r.exact === 'appOnly' ? 'Only the app could be raised' : `Could not go to ${a.session.place.label || 'its terminal'}`, r.why);
    });
  }

  async newTerminal(options: { cwd?: string; argv?: string[]; title?: string; beside?: boolean } = {}): Promise<void> {
    await this.act('Could not open a terminal', async () => {
      const { terminal } = await this.client.call('terminals.create', { cwd: options.cwd, argv: options.argv, title: options.title, cols: 80, rows: 24 });
      this.openTab({ kind: 'terminal', id: terminal.id }, { beside: options.beside });
    });
  }

  /** Runs a fix in a tab: typed into a login shell, so that the person sees and ends it. */
  runInTab(command: string): void {
    void this.newTerminal({ argv: ['/bin/sh', '-c', command], title: command });
  }

  /** A second start, a link or a notification wants this window, and perhaps something in it. */
  private raised(r: Raise): void {
    showWindow();
    this.show(r.open ?? '');
  }

  /** chat:<id>, session:<harness>/<id>, needs-you, or a whippletree: link. */
  show(open: string): void {
    if (open === 'needs-you') return this.nextNeedsYou();
    const chat = /^chat:(.+)$/.exec(open)?.[1] ?? /^whippletree:\/\/chat\/([\w-]+)/.exec(open)?.[1];
    if (chat) return this.openTab({ kind: 'chat', id: chat });
    const session = /^session:(.+)$/.exec(open)?.[1];
    const row = session ? this.agents.find((a) => a.id === session) : undefined;
    if (row) void this.openAgent(row);
  }

  /** Back from the settings: the focus returns to what was worked on. */
  leaveSettings(): void {
    this.win.view = 'work';
    if (this.win.tab?.kind === 'chat') this.focusOn = this.win.tab.id;
  }

  nextNeedsYou(): void {
    const list = [...this.needing].sort((a, b) => a.session.stateSince - b.session.stateSince);
    if (!list.length) return;
    const current = this.win.tab?.kind === 'chat' ? this.win.tab.id : '';
    const at = list.findIndex((a) => (a.chat?.id ?? a.session.chatId) === current);
    void this.openAgent(list[(at + 1) % list.length]!);
  }

  async set<K extends keyof Preferences>(key: K, value: Preferences[K]): Promise<void> {
    await this.act('Could not save the setting', () => this.client.call('settings.set', { path: PATHS[key], value }));
  }

  // kept over a restart

  private async restore(): Promise<void> {
    const get = async (key: string) => {
      try {
        return (await this.client.call('uistate.get', { key })).value;
      } catch {
        return null;
      }
    };
    const [win, drafts, attached] = await Promise.all([get(WINDOW_KEY), get(DRAFTS_KEY), get(ATTACHED_KEY)]);
    const kept = restored(win);
    if (kept) this.win.restore(kept);
    if (drafts && typeof drafts === 'object') {
      for (const [k, v] of Object.entries(drafts)) if (typeof v === 'string' && !(k in this.drafts)) this.drafts[k] = v;
    }
    if (attached && typeof attached === 'object') {
      for (const [k, v] of Object.entries(attached)) if (Array.isArray(v) && !(k in this.attached)) this.attached[k] = v.filter((a) => typeof a?.path === 'string' && typeof a?.name === 'string' && typeof a?.kind === 'string');
    }
    this.restored = true;
  }

  /** Called by the root component's effects whenever what is kept changed. */
  keepWindow(): void {
    const value = this.win.keep();
    if (this.restored) this.save(WINDOW_KEY, value);
  }

  keepDrafts(): void {
    const value = Object.fromEntries(Object.entries($state.snapshot(this.drafts)).filter(([, v]) => v));
    const files = Object.fromEntries(Object.entries($state.snapshot(this.attached)).filter(([, v]) => v.length));
    if (!this.restored) return;
    this.save(DRAFTS_KEY, value);
    this.save(ATTACHED_KEY, files);
  }

  private save(key: string, value: unknown): void {
    clearTimeout(this.saves.get(key));
    this.saves.set(key, setTimeout(() => void this.client.call('uistate.set', { key, value }).catch(() => {}), 300));
  }
}

export const [getApp, setApp] = createContext<App>();
