import { decodeFrame, encodeFrame, type Frame } from '../api/frames';
import type { Socket } from '../api/client';
import type { Event, HostInfo, Methods, Subscribe } from '../api/types.gen';

/** A host in the page's own memory: for tests and the gallery. It speaks the wire, not the client's types. */

interface Topic {
  value: unknown;
  seq: number;
  ring: Event[];
}

type Handler<M extends keyof Methods> = (params: Methods[M]['params']) => Methods[M]['result'] | Promise<Methods[M]['result']>;

export class FakeError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly fix?: string,
  ) {
    super(message);
  }
}

class FakeSocket implements Socket {
  binaryType: BinaryType = 'arraybuffer';
  onopen: ((ev: never) => void) | null = null;
  onclose: ((ev: never) => void) | null = null;
  onmessage: ((ev: { data: unknown }) => void) | null = null;
  readonly topics = new Set<string>();
  constructor(private readonly server: FakeServer) {}
  send(data: string | Uint8Array<ArrayBuffer>): void {
    if (typeof data === 'string') void this.server.receive(this, data);
    else this.server.receiveFrame(data);
  }
  close(): void {
    this.server.closed(this);
  }
}

export class FakeServer {
  epoch = 'e1';
  host: HostInfo = { version: '0.1.0', protocol: 1, pid: 1, home: '/home/me/.local/share/whippletree', startedAt: 0, epoch: 'e1', keepRunning: false, runningTurns: 0, terminals: 0, windows: 1, notifies: false };
  refuse: { code: string; message: string; fix?: string } | null = null;
  readonly calls: { method: string; params: unknown }[] = [];
  readonly acks: number[] = [];
  readonly frames: Frame[] = [];
  onFrame: ((f: Frame) => void) | undefined;
  private readonly topicMap = new Map<string, Topic>();
  private readonly handlers = new Map<string, (params: never) => unknown>();
  private socket: FakeSocket | null = null;
  /** What a resumed topic still has to hear, right after its answer. */
  private missed: Event[] = [];

  /** With manual, topics that were not set up answer with null; nothing else differs. */
  constructor(readonly options: { manual?: boolean } = {}) {}

  connect(): Socket {
    const s = new FakeSocket(this);
    this.socket = s;
    queueMicrotask(() => s.onopen?.(undefined as never));
    return s;
  }

  on<M extends keyof Methods>(method: M, handler: Handler<M>): void {
    this.handlers.set(method, handler as (params: never) => unknown);
  }

  topic(name: string): Topic {
    let t = this.topicMap.get(name);
    if (!t) this.topicMap.set(name, (t = { value: null, seq: 0, ring: [] }));
    return t;
  }

  publish(topic: string, type: string, data?: unknown): void {
    const t = this.topic(topic);
    const event: Event = { topic, seq: ++t.seq, type, data };
    t.ring.push(event);
    if (t.ring.length > 256) t.ring.shift();
    if (this.socket?.topics.has(topic)) this.deliver({ method: 'event', params: event });
  }

  gap(topic: string): void {
    this.socket?.topics.delete(topic);
    this.deliver({ method: 'event', params: { topic, seq: 0, type: 'gap' } });
  }

  frame(kind: number, stream: number, payload: Uint8Array): void {
    this.socket?.onmessage?.({ data: encodeFrame(kind, stream, payload).buffer });
  }

  /** The connection breaks; topics live on. */
  drop(): void {
    const s = this.socket;
    this.socket = null;
    s?.onclose?.(undefined as never);
  }

  restart(): void {
    this.epoch = `e${Number(this.epoch.slice(1)) + 1}`;
    this.topicMap.clear();
    this.drop();
  }

  closed(s: FakeSocket): void {
    if (this.socket === s) this.socket = null;
  }

  receiveFrame(data: Uint8Array<ArrayBuffer>): void {
    const f = decodeFrame(data.buffer);
    if (!f) return;
    this.frames.push(f);
    this.onFrame?.(f);
  }

  async receive(socket: FakeSocket, data: string): Promise<void> {
    const m = JSON.parse(data) as { id?: number; method: string; params: never };
    if (m.method === 'ack') {
      this.acks.push((m.params as { seq: number }).seq);
      return;
    }
    this.calls.push({ method: m.method, params: m.params });
    const answer = (body: object) => {
      if (this.socket === socket) this.deliver({ id: m.id, ...body });
    };
    try {
      answer({ result: await this.run(socket, m.method, m.params) });
      const missed = this.missed;
      this.missed = [];
      for (const e of missed) this.deliver({ method: 'event', params: e });
    } catch (e) {
      const f = e instanceof FakeError ? e : new FakeError('internal', String(e));
      answer({ error: { code: -32000, message: f.message, data: { code: f.code, message: f.message, fix: f.fix } } });
    }
  }

  private run(socket: FakeSocket, method: string, params: never): unknown {
    if (method === 'host.hello') {
      if (this.refuse) throw new FakeError(this.refuse.code, this.refuse.message, this.refuse.fix);
      return { host: { ...this.host, epoch: this.epoch } };
    }
    if (method === 'events.subscribe') return this.subscribe(socket, params);
    if (method === 'events.unsubscribe') {
      socket.topics.delete((params as { topic: string }).topic);
      return {};
    }
    const h = this.handlers.get(method);
    if (!h) throw new FakeError('not_found', `The fake host has no ${method}`);
    return h(params);
  }

  private subscribe(socket: FakeSocket, p: Subscribe): unknown {
    const t = this.topic(p.topic);
    socket.topics.add(p.topic);
    const since = p.since ?? 0;
    const missed = t.ring.filter((e) => e.seq > since);
    if (p.epoch === this.epoch && missed.length === t.seq - since) {
      this.missed = missed;
      return { seq: t.seq, epoch: this.epoch, resumed: true };
    }
    return { seq: t.seq, epoch: this.epoch, snapshot: t.value };
  }

  private deliver(message: object): void {
    this.socket?.onmessage?.({ data: JSON.stringify({ jsonrpc: '2.0', ...message }) });
  }
}
