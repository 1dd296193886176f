import type { Client } from '../api/client';
import type { Event } from '../api/types.gen';

/** A list topic as a reactive array, changed at most once per frame. */
export interface ListStore<T> {
  readonly items: readonly T[];
  /** False until the first snapshot. */
  readonly ready: boolean;
  get(id: string): T | undefined;
}

/** The page of a list behind a cursor, which is the id of the last item before it. */
export type Page<T> = (cursor: string) => Promise<{ items: readonly T[] | null; next?: string }>;

/** A snapshot with fewer items than this is never only the first page. */
const WHOLE = 60;

export function createList<T>(client: Client, topic: string, id: (item: T) => string, pick: (value: unknown) => T[] = (v) => (v ?? []) as T[], page?: Page<T>): ListStore<T> {
  let items = $state.raw<readonly T[]>([]);
  let ready = $state(false);
  let byId = new Map<string, T>();
  let run = 0;
  let gone = new Set<string>();

  /**
   * A snapshot holds what fits one message. The rest is read once, page by page; events keep it right meanwhile: what one of
   * them told is newer than a page, and what it took away does not come back.
   */
  async function rest(first: readonly T[]) {
    const mine = ++run;
    gone = new Set();
    if (!page || first.length < WHOLE) return;
    let cursor: string | undefined = id(first[first.length - 1]!);
    let again = true;
    for (let pages = 0; cursor !== undefined && pages < 1000; pages++) {
      let got: Awaited<ReturnType<Page<T>>>;
      try {
        got = await page(cursor);
      } catch {
        if (!again || mine !== run) return; // what is known is shown; the next snapshot begins anew
        again = false; // the place of the cursor is gone: once more from the beginning
        cursor = '';
        continue;
      }
      if (mine !== run) return;
      const map = new Map(byId);
      for (const item of got.items ?? []) if (!map.has(id(item)) && !gone.has(id(item))) map.set(id(item), item);
      put(map);
      cursor = got.next || undefined;
    }
  }

  function put(map: Map<string, T>) {
    byId = map;
    items = [...map.values()];
    ready = true;
  }

  client.follow(topic, {
    snapshot: (value) => {
      const first = pick(value);
      put(new Map(first.map((i) => [id(i), i])));
      void rest(first);
    },
    events: (batch: Event[]) => {
      let map = new Map(byId);
      for (const e of batch) {
        if (e.type === 'upsert') {
          const item = e.data as T;
          map.set(id(item), item);
          gone.delete(id(item));
        } else if (e.type === 'remove') {
          for (const key of (e.data as { ids: string[] | null }).ids ?? []) {
            map.delete(key);
            gone.add(key);
          }
        } else if (e.type === 'reset') {
          const first = pick(e.data);
          map = new Map(first.map((i) => [id(i), i]));
          void rest(first);
        }
      }
      put(map);
    },
  });

  return {
    get items() {
      return items;
    },
    get ready() {
      return ready;
    },
    get: (key) => (void items, byId.get(key)),
  };
}

export interface ValueStore<T> {
  readonly value: T | null;
}

export function createValue<T>(client: Client, topic: string, other: (e: Event) => void = () => {}): ValueStore<T> {
  let value = $state.raw<T | null>(null);
  client.follow(topic, {
    snapshot: (v) => (value = v as T),
    events: (batch) => {
      for (const e of batch) {
        if (e.type === 'value' || e.type === 'reset') value = e.data as T;
        else other(e);
      }
    },
  });
  return {
    get value() {
      return value;
    },
  };
}
