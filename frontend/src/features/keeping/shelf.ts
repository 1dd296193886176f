import type { StoredFolder, StoredSession } from '../../lib/api/types.gen';

/** A list that comes in pages, newest first: the sessions of one agent, in one folder or in all. */
export interface Source {
  harness: string;
  cwd: string;
}

export interface Page {
  sessions: readonly StoredSession[];
  next: string;
}

interface Shelf {
  source: Source;
  waiting: StoredSession[];
  next: string;
  done: boolean;
}

/** Several such lists as one, newest first. Nothing is asked for before it is needed. */
export class Merged {
  private readonly shelves: Shelf[];

  constructor(
    sources: readonly Source[],
    private readonly read: (s: Source, cursor: string) => Promise<Page>,
  ) {
    this.shelves = sources.map((source) => ({ source, waiting: [], next: '', done: false }));
  }

  get done(): boolean {
    return this.shelves.every((s) => s.done && !s.waiting.length);
  }

  /** The following sessions, at most so many. */
  async take(many: number): Promise<StoredSession[]> {
    const out: StoredSession[] = [];
    while (out.length < many) {
      await Promise.all(this.shelves.map((s) => this.fill(s)));
      let best: Shelf | undefined;
      for (const s of this.shelves) if (s.waiting.length && (!best || s.waiting[0]!.updatedAt > best.waiting[0]!.updatedAt)) best = s;
      if (!best) break;
      out.push(best.waiting.shift()!);
    }
    return out;
  }

  private async fill(s: Shelf): Promise<void> {
    if (s.waiting.length || s.done) return;
    const page = await this.read(s.source, s.next);
    s.waiting.push(...page.sessions);
    s.next = page.next;
    s.done = !page.next;
  }
}

export interface Project {
  root: string;
  name: string;
  gone: boolean;
  sessions: number;
  updatedAt: number;
  folders: readonly StoredFolder[];
}

/** Folders by the project they belong to, the one used last first. */
export function projects(folders: readonly StoredFolder[], harness: string): Project[] {
  const map = new Map<string, StoredFolder[]>();
  for (const f of folders) {
    if (harness && f.harness !== harness) continue;
    const root = f.project.root || f.cwd;
    map.set(root, [...(map.get(root) ?? []), f]);
  }
  return [...map.entries()]
    .map(([root, list]): Project => ({
      root,
      name: list[0]!.project.name || root.split('/').at(-1) || root,
      gone: list.every((f) => f.project.gone === true),
      sessions: list.reduce((n, f) => n + f.sessions, 0),
      updatedAt: Math.max(...list.map((f) => f.updatedAt)),
      folders: list,
    }))
    .sort((a, b) => b.updatedAt - a.updatedAt);
}

/** Where the sessions of a choice come from; root '' is every project. */
export function sources(folders: readonly StoredFolder[], harness: string, root: string): Source[] {
  if (root) return projects(folders, harness).find((p) => p.root === root)?.folders.map((f) => ({ harness: f.harness, cwd: f.cwd })) ?? [];
  return [...new Set(folders.filter((f) => !harness || f.harness === harness).map((f) => f.harness))].map((h) => ({ harness: h, cwd: '' }));
}

export const sessionKey = (s: StoredSession) => `${s.handle.harness}/${s.handle.nativeId}`;
