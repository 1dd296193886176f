import { afterEach, describe, expect, it, vi } from 'vitest';
import { Client } from './client';
import { ackPayload, decodeFrame, encodeFrame, FRAME_INPUT, FRAME_OUTPUT } from './frames';
import { pageEndpoint, socketURL } from './endpoint';
import { FakeServer } from '../fake/server';
import type { Event } from './types.gen';

const now = (run: () => void) => queueMicrotask(run);
const settle = async () => {
  for (let i = 0; i < 12; i++) await Promise.resolve();
};

function start(server = new FakeServer({ manual: true })) {
  const client = new Client({ endpoint: async () => ({ url: 'ws://x/ws' }), hello: { client: 'test', version: '0' }, connect: () => server.connect(), schedule: now, backoff: [1] });
  return { server, client };
}

function record(client: Client, topic: string) {
  const seen: unknown[] = [];
  const stop = client.follow(topic, {
    snapshot: (v) => seen.push({ snapshot: v }),
    events: (batch: Event[]) => seen.push(...batch.map((e) => e.data)),
    failed: (e) => seen.push(String(e)),
  });
  return { seen, stop };
}

describe('the client', () => {
  let open: Client[] = [];
  afterEach(() => {
    open.forEach((c) => c.close());
    open = [];
    vi.useRealTimers();
  });

  it('says hello first and answers calls by their id', async () => {
    const { server, client } = start();
    open.push(client);
    server.on('host.info', () => ({ host: server.host }));
    await client.start();
    await settle();
    expect(server.calls[0]?.method).toBe('host.hello');
    expect(client.status.state).toBe('open');
    await expect(client.call('host.info', {})).resolves.toEqual({ host: server.host });
    await expect(client.call('terminals.list', {})).rejects.toMatchObject({ code: 'not_found' });
  });

  it('applies a snapshot and then events in order', async () => {
    const { server, client } = start();
    open.push(client);
    server.topic('sessions').value = ['a'];
    const { seen } = record(client, 'sessions');
    await client.start();
    await settle();
    server.publish('sessions', 'upsert', 1);
    server.publish('sessions', 'upsert', 2);
    await settle();
    expect(seen).toEqual([{ snapshot: ['a'] }, 1, 2]);
  });

  it('asks for a snapshot on a gap and applies nothing before it', async () => {
    const { server, client } = start();
    open.push(client);
    server.topic('chats').value = 'first';
    const { seen } = record(client, 'chats');
    await client.start();
    await settle();
    server.publish('chats', 'upsert', 1);
    server.topic('chats').seq++; // one event is lost on the way
    server.topic('chats').value = 'second';
    server.publish('chats', 'upsert', 'after the hole');
    await settle();
    server.publish('chats', 'upsert', 'later');
    await settle();
    expect(seen).toEqual([{ snapshot: 'first' }, 1, { snapshot: 'second' }, 'later']);
  });

  it('subscribes anew when the host says gap', async () => {
    const { server, client } = start();
    open.push(client);
    server.topic('chats').value = 'v';
    const { seen } = record(client, 'chats');
    await client.start();
    await settle();
    server.gap('chats');
    await settle();
    expect(seen).toEqual([{ snapshot: 'v' }, { snapshot: 'v' }]);
  });

  it('resumes after a reconnect without a second snapshot', async () => {
    vi.useFakeTimers();
    const { server, client } = start();
    open.push(client);
    server.topic('sessions').value = 's';
    const { seen } = record(client, 'sessions');
    await client.start();
    await settle();
    server.publish('sessions', 'upsert', 1);
    await settle();
    server.drop();
    expect(client.status).toMatchObject({ state: 'lost', attempt: 1 });
    server.publish('sessions', 'upsert', 'while away');
    await vi.advanceTimersByTimeAsync(5);
    await settle();
    expect(client.status.state).toBe('open');
    expect(seen).toEqual([{ snapshot: 's' }, 1, 'while away']);
  });

  it('takes a new snapshot from a restarted host', async () => {
    vi.useFakeTimers();
    const { server, client } = start();
    open.push(client);
    server.topic('sessions').value = 'old';
    const { seen } = record(client, 'sessions');
    await client.start();
    await settle();
    server.restart();
    server.topic('sessions').value = 'new';
    await vi.advanceTimersByTimeAsync(5);
    await settle();
    expect(seen).toEqual([{ snapshot: 'old' }, { snapshot: 'new' }]);
  });

  it('rejects what was under way when the connection was lost', async () => {
    const { server, client } = start();
    open.push(client);
    server.on('chats.stop', () => new Promise(() => {}));
    await client.start();
    await settle();
    const call = client.call('chats.stop', { chatId: 'x' });
    server.drop();
    await expect(call).rejects.toMatchObject({ code: 'disconnected' });
  });

  it('acknowledges at least every 64 events', async () => {
    const { server, client } = start();
    open.push(client);
    record(client, 'sessions');
    await client.start();
    await settle();
    for (let i = 0; i < 200; i++) {
      server.publish('sessions', 'upsert', i);
      if (i % 10 === 9) await settle();
    }
    await settle();
    const steps = server.acks.map((a, i) => a - (server.acks[i - 1] ?? 0));
    expect(Math.max(...steps)).toBeLessThanOrEqual(64);
    expect(server.acks.at(-1)).toBeGreaterThan(200 - 64);
  });

  it('stays away from a host of another protocol', async () => {
    const { server, client } = start();
    open.push(client);
    server.refuse = { code: 'version', message: 'The window is older than the host', fix: 'restart' };
    await client.start();
    await settle();
    expect(client.status).toMatchObject({ state: 'refused', reason: 'The window is older than the host', fix: 'restart' });
  });

  it('keeps frames that arrive before their terminal is known', async () => {
    const { server, client } = start();
    open.push(client);
    await client.start();
    await settle();
    server.frame(FRAME_OUTPUT, 7, new Uint8Array([1, 2]));
    const got: number[][] = [];
    client.stream(7, (f) => got.push([...f.payload]));
    server.frame(FRAME_OUTPUT, 7, new Uint8Array([3]));
    expect(got).toEqual([[1, 2], [3]]);
    client.sendFrame(FRAME_INPUT, 7, new Uint8Array([13]));
    expect(server.frames).toEqual([{ kind: FRAME_INPUT, stream: 7, payload: new Uint8Array([13]) }]);
  });
});

describe('frames', () => {
  it('round trip', () => {
    const f = encodeFrame(1, 0x01020304, new Uint8Array([9]));
    expect([...f]).toEqual([1, 1, 2, 3, 4, 9]);
    expect(decodeFrame(f.buffer)).toEqual({ kind: 1, stream: 0x01020304, payload: new Uint8Array([9]) });
    expect(decodeFrame(new ArrayBuffer(4))).toBeNull();
    expect([...ackPayload(258)]).toEqual([0, 0, 0, 0, 0, 0, 1, 2]);
  });
});

describe('the endpoint of a page', () => {
  it('takes the token out of the address and keeps it for a reload', () => {
    const kept = new Map<string, string>();
    const storage = { getItem: (k: string) => kept.get(k) ?? null, setItem: (k: string, v: string) => void kept.set(k, v) };
    let clean = '';
    const at = (search: string, hash: string) => pageEndpoint({ protocol: 'http:', host: '127.0.0.1:5', pathname: '/', search, hash }, storage, (u) => (clean = u));
    expect(at('?token=s3cret&x=1', '')).toEqual({ url: 'ws://127.0.0.1:5/ws', token: 's3cret' });
    expect(clean).toBe('/?x=1');
    expect(at('', '#token=other').token).toBe('other');
    expect(at('', '').token).toBe('other');
    expect(socketURL({ url: 'ws://h/ws', token: 'a b' })).toBe('ws://h/ws?token=a%20b');
  });
});
