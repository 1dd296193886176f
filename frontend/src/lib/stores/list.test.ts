import { flushSync } from 'svelte';
import { expect, it } from 'vitest';
import { Client } from '../api/client';
import type { ChatSummary } from '../api/types.gen';
import { fakeChat } from '../fake/samples';
import { FakeError, FakeServer } from '../fake/server';
import { createList } from './list.svelte';

const many = Array.from({ length: 150 }, (_, i) => fakeChat(`c${String(i).padStart(3, '0')}`, { title: `chat ${i}` }));

async function settle() {
  for (let i = 0; i < 60; i++) await Promise.resolve();
  flushSync();
}

/** A host whose snapshot holds 60 chats and whose pages hold 40. */
async function world(paged: (cursor: string) => Promise<void> | void = () => {}) {
  const server = new FakeServer();
  server.topic('chats').value = many.slice(0, 60);
  server.on('chats.list', async ({ cursor }) => {
    await paged(cursor ?? '');
    const from = many.findIndex((c) => c.id === cursor) + 1;
    const chats = many.slice(from, from + 40);
    const more = from + 40 < many.length;
    return { chats, total: many.length, ...(more ? { next: chats.at(-1)!.id } : {}) };
  });
  const client = new Client({ endpoint: async () => ({ url: 'ws://x' }), hello: { client: 'test', version: '0' }, connect: () => server.connect(), schedule: (run) => queueMicrotask(run) });
  const list = createList<ChatSummary>(client, 'chats', (c) => c.id, undefined, async (cursor) => {
    const r = await client.call('chats.list', { cursor });
    return { items: r.chats, next: r.next };
  });
  await client.start();
  await settle();
  return { server, client, list };
}

it('a list behind its first page is read once, page by page', async () => {
  const { server, client, list } = await world();
  await settle();
  expect(list.items.map((c) => c.id)).toEqual(many.map((c) => c.id));
  expect(server.calls.filter((c) => c.method === 'chats.list').map((c) => (c.params as { cursor: string }).cursor)).toEqual(['c059', 'c099', 'c139']);
  client.close();
});

it('what events told meanwhile is newer than a page, and what they took away stays away', async () => {
  let go = () => {};
  const { server, client, list } = await world((cursor) => (cursor === 'c059' ? new Promise<void>((r) => (go = r)) : undefined));
  server.publish('chats', 'upsert', fakeChat('c070', { title: 'new title' }));
  server.publish('chats', 'upsert', fakeChat('c071', {}));
  server.publish('chats', 'remove', { ids: ['c071', 'c080'] });
  await settle();
  go();
  await settle();
  expect(list.get('c070')?.title).toBe('new title');
  expect(list.get('c071')).toBeUndefined();
  expect(list.get('c080')).toBeUndefined();
  expect(list.items.length).toBe(148);
  client.close();
});

it('a cursor whose place is gone begins anew, once', async () => {
  const asked: string[] = [];
  const { client, list } = await world((cursor) => {
    asked.push(cursor);
    if (cursor === 'c099' && asked.filter((c) => c === cursor).length === 1) throw new FakeError('conflict', 'The list changed.');
  });
  await settle();
  expect(asked.slice(0, 3)).toEqual(['c059', 'c099', '']);
  expect(list.items.length).toBe(150);
  client.close();

  const never = await world(() => {
    throw new FakeError('conflict', 'The list changed.');
  });
  await settle();
  expect(never.list.items.length).toBe(60);
  expect(never.server.calls.filter((c) => c.method === 'chats.list').length).toBe(2);
  never.client.close();
});
