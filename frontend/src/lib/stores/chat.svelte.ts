import type { Client } from '../api/client';
import { reason } from '../api/errors';
import type { Appended, ApprovalCard, Catalog, Chat, ChatSummary, Event, Notice, QueueEntry, Row, RemovedRows, TurnChanged, Usage } from '../api/types.gen';
import { cardKey, isPast } from './cards';
import { mergeSummary, type ChatDetail } from './merge';

/** Length in UTF-8 bytes without making the bytes. */
export function utf8Length(text: string): number {
  let n = text.length;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x80) continue;
    if (c < 0x800) n += 1;
    else if (c >= 0xd800 && c < 0xdc00) {
      n += 2;
      i++;
    } else n += 2;
  }
  return n;
}

/** One row of a timeline. Appended text touches only its own two fields. */
export class ChatRow {
  row: Row = $state.raw()!;
  text = $state('');
  output = $state('');
  private bytes = 0;

  constructor(row: Row) {
    this.set(row);
  }

  set(row: Row): void {
    this.row = row;
    this.text = row.text ?? '';
    this.output = row.output ?? '';
    this.bytes = utf8Length(row.type === 'tool' ? this.output : this.text);
  }

  /** False when something is missing before it. */
  append(a: Appended): boolean {
    if (a.at !== this.bytes) return false;
    if (this.row.type === 'tool') this.output += a.text;
    else this.text += a.text;
    this.bytes += utf8Length(a.text);
    return true;
  }
}

export interface ChatStore {
  readonly id: string;
  readonly chat: Chat | null;
  readonly rows: readonly ChatRow[];
  readonly queue: readonly QueueEntry[];
  /** All requests that are known. */
  readonly approvals: readonly ApprovalCard[];
  /** Those that wait, for a person or for the agent's acknowledgement. */
  readonly asked: readonly ApprovalCard[];
  /** Those that have ended, by themselves or with their turn. */
  readonly past: readonly ApprovalCard[];
  readonly usage: Usage | undefined;
  readonly catalog: Catalog | undefined;
  /** Grows when the agent sends something: drives the working glyph. */
  readonly pulse: number;
  readonly notices: readonly Notice[];
  readonly error: string;
  readonly hasOlder: boolean;
  loadOlder(): Promise<void>;
  dismissNotice(n: Notice): void;
  close(): void;
}

const PAGE = 100;

export function createChat(client: Client, id: string): ChatStore {
  let chat = $state.raw<Chat | null>(null);
  let rows = $state.raw<readonly ChatRow[]>([]);
  let queue = $state.raw<readonly QueueEntry[]>([]);
  let approvals = $state.raw<readonly ApprovalCard[]>([]);
  /** Ended with their turn, or read from the store: whatever their state says, nobody waits for them. */
  let settled = $state.raw<ReadonlySet<string>>(new Set());
  const asked = $derived(approvals.filter((a) => !isPast(a) && !settled.has(cardKey(a))));
  const past = $derived(approvals.filter((a) => isPast(a) || settled.has(cardKey(a))));
  let usage = $state.raw<Usage | undefined>();
  let catalog = $state.raw<Catalog | undefined>();
  let notices = $state.raw<readonly Notice[]>([]);
  let pulse = $state(0);
  let error = $state('');
  let byId = new Map<string, ChatRow>();
  let loading = false;
  /** How far back the requests that have ended are known; 0: to the beginning. */
  let pastFrom = Infinity;
  const topic = `chat:${id}`;
  let stop = follow();

  function follow() {
    return client.follow(topic, { snapshot: (v) => snapshot(v as Chat), events, failed: (e) => (error = reason(e)) });
  }

  function snapshot(c: Chat) {
    error = '';
    chat = c;
    queue = c.queue ?? [];
    // Cards that ended while we were away stay as lines of the timeline.
    const fresh = c.approvals ?? [];
    const known = new Set(fresh.map(cardKey));
    settle(approvals.filter((a) => !known.has(cardKey(a)) && a.state !== 'open'));
    approvals = [...approvals.filter((a) => !known.has(cardKey(a)) && a.state !== 'open'), ...fresh];
    usage = c.usage;
    catalog = c.catalog;
    const map = new Map<string, ChatRow>();
    rows = (c.items ?? []).map((r) => {
      const old = byId.get(r.id);
      if (old) old.set(r);
      const kept = old ?? new ChatRow(r);
      map.set(r.id, kept);
      return kept;
    });
    byId = map;
    pastFrom = Infinity;
    void pastTo(rows[0]?.row.at ?? 0);
  }

  function settle(list: readonly ApprovalCard[]) {
    if (list.length) settled = new Set([...settled, ...list.map(cardKey)]);
  }

  /** Fetches the requests that ended since a time: lines beside the rows of then. */
  async function pastTo(at: number) {
    try {
      while (pastFrom > at) {
        const { cards, more } = await client.call('chats.cards', { chatId: id, before: Number.isFinite(pastFrom) ? pastFrom : undefined });
        const known = new Set(approvals.map(cardKey));
        const fresh = (cards ?? []).filter((c) => !known.has(cardKey(c)));
        settle(fresh);
        approvals = [...approvals, ...fresh];
        pastFrom = more && cards?.length ? cards.at(-1)!.at : 0;
      }
    } catch {
      // Without them the rows are still right; the next snapshot asks again.
    }
  }

  function events(batch: Event[]) {
    for (const e of batch) event(e);
  }

  function event(e: Event) {
    switch (e.type) {
      case 'chat':
        if (chat) chat = mergeSummary(chat, e.data as ChatSummary & Partial<ChatDetail>);
        break;
      case 'row':
        putRow(e.data as Row);
        break;
      case 'append': {
        const a = e.data as Appended;
        // Something is missing: the host's snapshot is the truth.
        if (byId.get(a.id)?.append(a) !== true) restart();
        break;
      }
      case 'removeRows': {
        const { from } = e.data as RemovedRows;
        for (const r of rows) if (r.row.seq >= from) byId.delete(r.row.id);
        rows = rows.filter((r) => r.row.seq < from);
        break;
      }
      case 'queue':
        queue = (e.data as QueueEntry[] | null) ?? [];
        break;
      case 'approval': {
        const card = e.data as ApprovalCard;
        // What was asked anew is another card; the one before it stays as it ended.
        const same = (a: ApprovalCard) => cardKey(a) === cardKey(card);
        approvals = approvals.some(same) ? approvals.map((a) => (same(a) ? card : a)) : [...approvals.filter((a) => a.id !== card.id || a.state !== 'open'), card];
        break;
      }
      case 'usage':
        usage = e.data as Usage;
        break;
      case 'catalog':
        catalog = e.data as Catalog;
        break;
      case 'turn': {
        const t = e.data as TurnChanged;
        // Every request ends with its turn.
        if (t.end) settle(approvals.filter((a) => a.turn === t.turn && !a.elsewhere));
        if (chat) chat = { ...chat, turn: t.end ? 'idle' : t.state, silentSince: t.end ? undefined : chat.silentSince, turnSince: t.end ? undefined : (chat.turnSince ?? t.at), lastEnd: t.end ?? chat.lastEnd };
        break;
      }
      case 'pulse':
        pulse++;
        if (chat?.silentSince) chat = { ...chat, silentSince: undefined };
        break;
      case 'notice':
        notices = [...notices.slice(-2), e.data as Notice];
        break;
    }
  }

  function restart() {
    stop();
    stop = follow();
  }

  function putRow(row: Row) {
    const old = byId.get(row.id);
    if (old) return old.set(row);
    const made = new ChatRow(row);
    byId.set(row.id, made);
    const last = rows.at(-1);
    if (!last || last.row.seq < row.seq) rows = [...rows, made];
    else {
      const at = rows.findIndex((r) => r.row.seq > row.seq);
      rows = at < 0 ? [...rows, made] : [...rows.slice(0, at), made, ...rows.slice(at)];
    }
  }

  return {
    id,
    get chat() { return chat; },
    get rows() { return rows; },
    get queue() { return queue; },
    get approvals() { return approvals; },
    get asked() { return asked; },
    get past() { return past; },
    get usage() { return usage; },
    get catalog() { return catalog; },
    get pulse() { return pulse; },
    get notices() { return notices; },
    get error() { return error; },
    get hasOlder() { return rows.length > 0 && rows[0]!.row.seq > 1; },
    async loadOlder() {
      const first = rows[0];
      if (loading || !first || first.row.seq <= 1) return;
      loading = true;
      try {
        const { rows: older } = await client.call('chats.rows', { chatId: id, before: first.row.seq, limit: PAGE });
        const made = (older ?? []).filter((r) => !byId.has(r.id)).map((r) => new ChatRow(r));
        for (const r of made) byId.set(r.row.id, r);
        rows = [...made, ...rows];
        void pastTo(rows[0]?.row.at ?? 0);
      } catch (e) {
        error = reason(e);
      } finally {
        loading = false;
      }
    },
    dismissNotice(n) {
      notices = notices.filter((x) => x !== n);
    },
    close: () => stop(),
  };
}
