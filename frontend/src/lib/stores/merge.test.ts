import { flushSync } from 'svelte';
import { describe, expect, it } from 'vitest';
import { Client } from '../api/client';
import type { Chat, ChatSummary, Row, Session } from '../api/types.gen';
import { fakeChat, fakeSession } from '../fake/samples';
import { FakeServer } from '../fake/server';
import { ChatRow } from './chat.svelte';
import { createList } from './list.svelte';
import { mergeSummary } from './merge';

const full: ChatSummary = fakeChat('c', {
  handle: { harness: 'rehearsal', nativeId: 'n', cwd: '/' }, aliases: ['a'], turnSince: 5, model: 'm', mode: 'x', thinking: 'high',
  unread: true, lastEnd: { outcome: 'failed' }, archived: true, waiting: 2, queued: 3,
});
const chat: Chat = { ...full, agent: { name: 'A', version: '1' }, abilities: ['steer'], items: [], first: 1, total: 0, queue: [], approvals: [], autoMode: { on: true, answers: 2, since: 1 }, silentSince: 9, trust: 'trusted' };

describe('a summary that leaves empty fields out', () => {
  // One of each kind that Go leaves out: a struct, a list, a number, a text, a truth.
  for (const key of ['handle', 'lastEnd', 'aliases', 'turnSince', 'model', 'mode', 'thinking', 'unread', 'archived'] as const)
    it(`empties ${key}`, () => {
      const { [key]: _, ...told } = full;
      const merged = mergeSummary(chat, told as ChatSummary);
      expect(merged[key]).toBeUndefined();
      expect(key in merged).toBe(false);
    });

  it('keeps what is no part of it', () => {
    expect(mergeSummary(chat, { ...full, waiting: 0 })).toEqual({ ...chat, waiting: 0 });
  });

  it('takes agent, abilities, automatic mode and silence when the event carries them', () => {
    const told = { ...full, agent: { name: 'A', version: '2' }, abilities: null, autoMode: null, silentSince: 0, stopping: null };
    expect(mergeSummary(chat, told)).toMatchObject({ agent: { version: '2' }, abilities: null, autoMode: undefined, silentSince: undefined, stopping: undefined, trust: 'trusted' });
    expect(mergeSummary(chat, { ...told, silentSince: 77, autoMode: { on: true, answers: 3, since: 1 }, stopping: { step: 'owed', at: 5 } })).toMatchObject({ silentSince: 77, autoMode: { answers: 3 }, stopping: { step: 'owed' } });
  });
});

it('a session that is told anew keeps nothing of the old one', async () => {
  const server = new FakeServer();
  const old = fakeSession('s', { state: 'waiting', waitingKind: 'approval', waitingFor: 'go test', unread: true, needsYou: true, tool: 'Bash', subagents: [{ id: 'x', type: 't', status: 'running' }], context: { used: 1, max: 2 }, stale: true });
  server.topic('sessions').value = [old];
  const client = new Client({ endpoint: async () => ({ url: 'ws://x' }), hello: { client: 'test', version: '0' }, connect: () => server.connect(), schedule: (run) => queueMicrotask(run) });
  const list = createList<Session>(client, 'sessions', (s) => s.key.id);
  await client.start();
  for (let i = 0; i < 12; i++) await Promise.resolve();
  server.publish('sessions', 'upsert', fakeSession('s'));
  for (let i = 0; i < 12; i++) await Promise.resolve();
  flushSync();
  expect(list.get('s')).toEqual(JSON.parse(JSON.stringify(fakeSession('s'))));
  client.close();
});

it('a row that is told anew keeps nothing of the old one', () => {
  const row: Row = { id: 'r', type: 'tool', at: 1, seq: 1, turn: 1, text: 'a', output: 'b', provisional: true, startedAt: 1, locations: [{ path: 'p' }], detail: { execute: { command: 'x' } } };
  const shown = new ChatRow(row);
  const next: Row = { id: 'r', type: 'tool', at: 1, seq: 1, turn: 1 };
  shown.set(next);
  expect([shown.row, shown.text, shown.output]).toEqual([next, '', '']);
});
