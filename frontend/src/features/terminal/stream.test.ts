import { describe, expect, it } from 'vitest';
import { Client } from '../../lib/api/client';
import { FRAME_ACK, FRAME_INPUT, FRAME_OUTPUT, FRAME_REPLAY, FRAME_REPLAY_END } from '../../lib/api/frames';
import { FakeServer } from '../../lib/fake/server';
import { TerminalStream } from './stream';

const settle = async () => {
  for (let i = 0; i < 12; i++) await Promise.resolve();
};

describe('a terminal stream', () => {
  it('rebuilds the screen, then shows output, and acknowledges what was drawn', async () => {
    const server = new FakeServer();
    server.on('terminals.attach', (p) => ({ stream: 3, terminal: { id: p.id } as never }));
    server.on('terminals.detach', () => ({}));
    const client = new Client({ endpoint: async () => ({ url: 'ws://x' }), hello: { client: 'test', version: '0' }, connect: () => server.connect(), schedule: queueMicrotask });
    await client.start();
    await settle();
    const log: string[] = [];
    const done: (() => void)[] = [];
    const s = new TerminalStream(client, 't', { write: (d, cb) => (log.push(new TextDecoder().decode(d)), done.push(cb)), reset: () => log.push('reset'), replayed: () => log.push('replayed') });
    const attached = s.attach(80, 24, true);
    await settle();
    await attached;
    const bytes = (t: string) => new TextEncoder().encode(t);
    server.frame(FRAME_REPLAY, 3, bytes('old'));
    expect(s.replaying).toBe(true);
    server.frame(FRAME_REPLAY_END, 3, bytes(''));
    server.frame(FRAME_OUTPUT, 3, bytes('new!'));
    expect([log, s.replaying]).toEqual([['reset', 'old', 'new!'], true]);
    expect(server.frames).toEqual([]);
    done.forEach((d) => d());
    expect([log.at(-1), s.replaying]).toEqual(['replayed', false]);
    expect(server.frames.map((f) => [f.kind, Number(new DataView(f.payload.slice().buffer).getBigUint64(0))])).toEqual([[FRAME_ACK, 7]]);
    s.input(bytes('ls\r'));
    expect(server.frames.at(-1)).toMatchObject({ kind: FRAME_INPUT, stream: 3 });
    s.close();
    await settle();
    expect(server.calls.at(-1)?.method).toBe('terminals.detach');
    client.close();
  });
});
