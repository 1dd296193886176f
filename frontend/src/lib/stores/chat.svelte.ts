import type { Client } from '../api/client';
import { reason } from '../api/errors';
import type { Appended, ApprovalCard, Catalog, Chat, ChatSummary, Event, Notice, QueueEntry, Row, RemovedRows, TurnChanged, Usage } from '../api/types.gen';
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
  readonly approvals: readonly ApprovalCard[];
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
  let usage = $state.raw<Usage | undefined>();
  let catalog = $state.raw<Catalog | undefined>();
  let notices = $state.raw<readonly Notice[]>([]);
  let pulse = $state(0);
  let error = $state('');
  let byId = new Map<string, ChatRow>();
  let loading = false;
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
    const known = new Set(fresh.map((a) => a.id));
    approvals = [...approvals.filter((a) => !known.has(a.id) && a.state !== 'open' && a.state !== 'sent'), ...fresh];
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
        approvals = approvals.some((a) => a.id === card.id) ? approvals.map((a) => (a.id === card.id ? card : a)) : [...approvals, card];
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
