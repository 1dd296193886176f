import type { Client } from '../api/client';
import type { Event } from '../api/types.gen';

/** A list topic as a reactive array, changed at most once per frame. */
export interface ListStore<T> {
  readonly items: readonly T[];
  /** False until the first snapshot. */
  readonly ready: boolean;
  get(id: string): T | undefined;
}

export function createList<T>(client: Client, topic: string, id: (item: T) => string, pick: (value: unknown) => T[] = (v) => (v ?? []) as T[]): ListStore<T> {
  let items = $state.raw<readonly T[]>([]);
  let ready = $state(false);
  let byId = new Map<string, T>();

  function put(map: Map<string, T>) {
    byId = map;
    items = [...map.values()];
    ready = true;
  }

  client.follow(topic, {
    snapshot: (value) => put(new Map(pick(value).map((i) => [id(i), i]))),
    events: (batch: Event[]) => {
      let map = new Map(byId);
      for (const e of batch) {
        if (e.type === 'upsert') map.set(id(e.data as T), e.data as T);
        else if (e.type === 'remove') for (const gone of (e.data as { ids: string[] | null }).ids ?? []) map.delete(gone);
        else if (e.type === 'reset') map = new Map(pick(e.data).map((i) => [id(i), i]));
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
