import { reason } from '../../lib/api/errors';
import type { Client } from '../../lib/api/client';
import type { ChatSummary, SearchHit } from '../../lib/api/types.gen';

export type Where = 'chats' | 'sessions';

/** A search while it is typed: the newest words win, earlier answers are dropped. */
export class Finding {
  text = $state('');
  where = $state<Where>('chats');
  harness = $state('');
  cwd = $state('');
  hits = $state.raw<readonly SearchHit[]>([]);
  titles = $state.raw<readonly ChatSummary[]>([]);
  next = $state('');
  waiting = $state(0);
  off = $state(false);
  /** Sessions are still being read: the same search may find more later. */
  reading = $state(false);
  busy = $state(false);
  error = $state('');
  /** What the shown hits were found for; '' before the first answer. */
  asked = $state('');
  private run = 0;

  constructor(private readonly client: Client) {}

  /** Searches anew. Without a text there is nothing to show. */
  async start(): Promise<void> {
    const run = ++this.run;
    this.error = '';
    if (!this.text.trim()) {
      this.hits = [];
      this.titles = [];
      this.next = this.asked = '';
      this.busy = this.off = false;
      return;
    }
    await this.page(run, '');
  }

  /** The following page, once it is wanted. */
  async more(): Promise<void> {
    if (this.busy || !this.next) return;
    await this.page(this.run, this.next);
  }

  stop(): void {
    this.run++;
  }

  /** A page may hold nothing and a place to go on: a few are read at once, then the person decides. */
  private async page(run: number, cursor: string): Promise<void> {
    this.busy = true;
    const text = this.text.trim();
    try {
      for (let n = 0, at = cursor; n < 4; n++) {
        const r = await this.client.call('search.find', { text, in: this.where, harness: this.harness || undefined, cwd: this.cwd || undefined, cursor: at || undefined, limit: 50 });
        if (run !== this.run) return;
        const hits = r.hits ?? [];
        if (!at) {
          this.hits = hits;
          this.titles = r.titles ?? [];
          this.waiting = r.waiting ?? 0;
          this.off = r.off ?? false;
          this.reading = r.reading ?? false;
          this.asked = text;
        } else this.hits = [...this.hits, ...hits];
        this.next = at = r.next ?? '';
        if (!at || hits.length) break;
      }
    } catch (e) {
      if (run === this.run) {
        this.error = reason(e);
        this.hits = [];
        this.titles = [];
        this.next = '';
      }
    } finally {
      if (run === this.run) this.busy = false;
    }
  }
}
