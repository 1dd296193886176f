import { flushSync } from 'svelte';
import { describe, expect, it } from 'vitest';
import { Client } from '../api/client';
import { FakeServer } from '../fake/server';
import { fakeChat } from '../fake/samples';
import type { Chat, Row } from '../api/types.gen';
import { createChat, utf8Length } from './chat.svelte';

const settle = async () => {
  for (let i = 0; i < 12; i++) await Promise.resolve();
  flushSync();
};
const row = (seq: number, more: Partial<Row> = {}): Row => ({ id: `r${seq}`, type: 'text', at: 0, seq, turn: 1, text: '', ...more });

async function setup(items: Row[]) {
  const server = new FakeServer();
  const chat: Chat = { ...fakeChat('c'), agent: { name: 'Rehearsal', version: '1' }, abilities: [], items, first: items[0]?.seq ?? 1, total: items.length, queue: [], approvals: [] };
  server.topic('chat:c').value = chat;
  const client = new Client({ endpoint: async () => ({ url: 'ws://x' }), hello: { client: 'test', version: '0' }, connect: () => server.connect(), schedule: (run) => queueMicrotask(run) });
  const store = createChat(client, 'c');
  await client.start();
  await settle();
  return { server, chat, store, client };
}

describe('a chat', () => {
  it('counts bytes as the host does', () => {
    for (const s of ['', 'abc', 'é', '漢字', '👍🏽', 'a\u0000b']) expect(utf8Length(s)).toBe(new TextEncoder().encode(s).length);
  });

  it('appends text to the row it belongs to', async () => {
    const { server, store } = await setup([row(1, { text: 'é' })]);
    server.publish('chat:c', 'append', { id: 'r1', at: 2, text: '漢' });
    server.publish('chat:c', 'append', { id: 'r1', at: 5, text: '!' });
    await settle();
    expect(store.rows[0]!.text).toBe('é漢!');
  });

  it('asks for the whole chat when text is missing', async () => {
    const { server, store, chat } = await setup([row(1, { text: 'abc' })]);
    server.topic('chat:c').value = { ...chat, items: [row(1, { text: 'abcdef' })] };
    server.publish('chat:c', 'append', { id: 'r1', at: 5, text: 'f' });
    await settle();
    expect(store.rows[0]!.text).toBe('abcdef');
  });

  it('keeps rows in order, replaces by id, removes a tail', async () => {
    const { server, store } = await setup([row(1), row(4)]);
    server.publish('chat:c', 'row', row(3, { text: 'three' }));
    server.publish('chat:c', 'row', row(4, { text: 'four' }));
    await settle();
    expect(store.rows.map((r) => [r.row.seq, r.text])).toEqual([[1, ''], [3, 'three'], [4, 'four']]);
    server.publish('chat:c', 'removeRows', { from: 3 });
    await settle();
    expect(store.rows.map((r) => r.row.seq)).toEqual([1]);
  });

  it('loads older rows once, before the first', async () => {
    const { server, store } = await setup([row(3)]);
    server.on('chats.rows', (p) => (expect(p).toEqual({ chatId: 'c', before: 3, limit: 100 }), { rows: [row(1), row(2)], total: 3 }));
    expect(store.hasOlder).toBe(true);
    await Promise.all([store.loadOlder(), store.loadOlder()]);
    expect(store.rows.map((r) => r.row.seq)).toEqual([1, 2, 3]);
    expect(store.hasOlder).toBe(false);
  });

  it('follows turn, queue and approvals', async () => {
    const { server, store } = await setup([]);
    server.publish('chat:c', 'turn', { turn: 1, origin: 'prompt', state: 'running', at: 5 });
    server.publish('chat:c', 'queue', [{ clientId: 'q', text: 'next', state: 'queued', at: 0 }]);
    const card = { id: 'a', kind: 'tool', title: 'Run?', options: [], chatId: 'c', turn: 1, at: 0, revision: 1, state: 'open' };
    server.publish('chat:c', 'approval', card);
    server.publish('chat:c', 'approval', { ...card, state: 'confirmed' });
    await settle();
    expect([store.chat?.turn, store.queue.length, store.approvals.map((a) => a.state)]).toEqual(['running', 1, ['confirmed']]);
    server.publish('chat:c', 'turn', { turn: 1, origin: 'prompt', state: 'idle', at: 9, end: { outcome: 'completed' } });
    await settle();
    expect([store.chat?.turn, store.chat?.lastEnd?.outcome]).toEqual(['idle', 'completed']);
  });
});
