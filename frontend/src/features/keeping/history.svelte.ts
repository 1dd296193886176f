import type { Client } from '../../lib/api/client';
import { reason } from '../../lib/api/errors';
import type { PreviewResult, StoredFolder, StoredSession } from '../../lib/api/types.gen';
import { Merged, projects, sessionKey, sources, type Project } from './shelf';

const STEP = 60;

/** The stored sessions of this computer while somebody looks through them. */
export class StoredHistory {
  harness = $state('');
  root = $state('');
  folders = $state.raw<readonly StoredFolder[]>([]);
  sessions = $state.raw<readonly StoredSession[]>([]);
  loading = $state(true);
  /** The disk is still being looked at: there may be more. */
  checking = $state(false);
  done = $state(false);
  error = $state('');
  chosen = $state('');
  preview = $state.raw<PreviewResult | null>(null);
  previewError = $state('');
  readonly projects: Project[] = $derived.by(() => projects(this.folders, this.harness));
  private merged: Merged | null = null;
  private run = 0;
  private previewRun = 0;

  constructor(private readonly client: Client) {}

  get current(): StoredSession | undefined {
    return this.sessions.find((s) => sessionKey(s) === this.chosen);
  }

  /** fresh waits until the disk was compared with what is known. */
  async start(fresh = false): Promise<void> {
    const run = ++this.run;
    this.loading = true;
    this.error = '';
    try {
      const got = await this.client.call('sessions.storedFolders', fresh ? { fresh } : {});
      if (run !== this.run) return;
      this.folders = got.folders ?? [];
      this.checking = got.checking ?? false;
      await this.choose();
    } catch (e) {
      if (run === this.run) this.error = reason(e);
    } finally {
      if (run === this.run) this.loading = false;
    }
    if (this.checking && !fresh && run === this.run) await this.start(true);
  }

  /** Another agent or project: the list begins anew. */
  async choose(): Promise<void> {
    if (this.root && !this.projects.some((p) => p.root === this.root)) this.root = '';
    const run = ++this.run;
    this.merged = new Merged(sources(this.folders, this.harness, this.root), async (s, cursor) => {
      const r = await this.client.call('sessions.stored', { harness: s.harness, cwd: s.cwd || undefined, cursor: cursor || undefined, limit: STEP });
      return { sessions: r.sessions ?? [], next: r.next ?? '' };
    });
    await this.step(run, true);
  }

  async more(): Promise<void> {
    if (this.loading || this.done) return;
    await this.step(this.run, false);
  }

  private async step(run: number, anew: boolean): Promise<void> {
    const m = this.merged;
    if (!m) return;
    this.loading = true;
    this.error = '';
    try {
      const got = await m.take(STEP);
      if (run !== this.run) return;
      const known = new Set(anew ? [] : this.sessions.map(sessionKey));
      this.sessions = [...(anew ? [] : this.sessions), ...got.filter((s) => !known.has(sessionKey(s)))];
      this.done = m.done;
    } catch (e) {
      if (run === this.run) this.error = reason(e);
    } finally {
      if (run === this.run) this.loading = false;
    }
  }

  /** Reads both ends of a session; nothing is imported. */
  async show(s: StoredSession): Promise<void> {
    const run = ++this.previewRun;
    this.chosen = sessionKey(s);
    this.preview = null;
    this.previewError = '';
    try {
      const got = await this.client.call('sessions.preview', { handle: s.handle });
      if (run === this.previewRun) this.preview = got;
    } catch (e) {
      if (run === this.previewRun) this.previewError = reason(e);
    }
  }

  stop(): void {
    this.run++;
    this.previewRun++;
  }
}
