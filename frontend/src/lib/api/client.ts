import { FrameQueue, frameScheduler, type Scheduler } from './batch';
import { socketURL, type Endpoint } from './endpoint';
import { ApiError, DISCONNECTED, fromWire } from './errors';
import { decodeFrame, encodeFrame, type Frame } from './frames';
import { TopicTracker, type TopicHandler } from './topics';
import { PROTOCOL, type Event, type Hello, type HelloResult, type HostInfo, type Methods, type Subscribed } from './types.gen';

/** The part of WebSocket the client uses; the fake server has it too. */
export interface Socket {
  binaryType: BinaryType;
  onopen: ((ev: never) => void) | null;
  onclose: ((ev: never) => void) | null;
  onmessage: ((ev: { data: unknown }) => void) | null;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(): void;
}

export interface Status {
  state: 'connecting' | 'open' | 'lost' | 'refused';
  /** Attempts since the connection was lost. */
  attempt: number;
  since: number;
  host?: HostInfo;
  reason?: string;
  fix?: string;
}

export interface ClientOptions {
  endpoint: () => Promise<Endpoint>;
  hello: Omit<Hello, 'protocol'>;
  connect?: (url: string) => Socket;
  schedule?: Scheduler;
  /** Waits before the next attempts, in milliseconds; the last one repeats. */
  backoff?: number[];
}

type Pending = { resolve(value: unknown): void; reject(error: unknown): void };

const ACK_EVENTS = 64;
const ACK_BYTES = 256 * 1024;
/** Frames of a stream whose owner is not known yet are kept up to this many bytes. */
const EARLY_BYTES = 4 * 1024 * 1024;

/**
 * One connection to the host: calls, ordered topics, terminal streams. It
 * reconnects by itself and continues every topic where it stood.
 */
export class Client {
  status: Status = { state: 'connecting', attempt: 0, since: Date.now() };
  private socket: Socket | null = null;
  private nextId = 1;
  private readonly pending = new Map<number, Pending>();
  private readonly topics = new Map<string, TopicTracker>();
  private readonly streams = new Map<number, (f: Frame) => void>();
  private early: Frame[] = [];
  private readonly statusListeners = new Set<(s: Status) => void>();
  private readonly queue: FrameQueue;
  private received = 0;
  private acked = 0;
  private unackedBytes = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private closed = false;

  constructor(private readonly options: ClientOptions) {
    this.queue = new FrameQueue(options.schedule ?? frameScheduler, () => this.acknowledge());
  }

  onStatus(listener: (s: Status) => void): () => void {
    this.statusListeners.add(listener);
    listener(this.status);
    return () => this.statusListeners.delete(listener);
  }

  private setStatus(next: Partial<Status>): void {
    this.status = { ...this.status, ...next };
    for (const l of this.statusListeners) l(this.status);
  }

  async start(): Promise<void> {
    clearTimeout(this.retry);
    if (this.closed) return;
    let socket: Socket;
    try {
      const url = socketURL(await this.options.endpoint());
      if (this.closed || this.socket) return;
      socket = this.options.connect ? this.options.connect(url) : (new WebSocket(url) as unknown as Socket);
    } catch (e) {
      this.lost(e instanceof Error ? e.message : String(e));
      return;
    }
    this.socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => void this.greet(socket);
    socket.onmessage = (ev) => this.message(socket, ev.data);
    socket.onclose = () => {
      if (this.socket === socket) this.lost();
    };
  }

  /** Tries again at once instead of waiting for the next attempt. */
  retryNow(): void {
    if (!this.socket) void this.start();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.retry);
    this.drop();
    this.queue.clear();
  }

  private drop(): void {
    const s = this.socket;
    this.socket = null;
    s?.close();
    for (const p of this.pending.values()) p.reject(new ApiError(DISCONNECTED, 'The connection to the host was lost'));
    this.pending.clear();
    this.streams.clear();
    this.early = [];
  }

  private lost(why?: string): void {
    this.drop();
    if (this.closed) return;
    const first = this.status.state === 'open' || (this.status.state === 'connecting' && this.status.attempt === 0);
    const attempt = first ? 1 : this.status.attempt + 1;
    this.setStatus({ state: 'lost', attempt, since: first ? Date.now() : this.status.since, reason: why });
    const waits = this.options.backoff ?? [50, 150, 400, 1000, 2000, 4000];
    this.retry = setTimeout(() => void this.start(), waits[Math.min(attempt, waits.length) - 1]);
  }

  private async greet(socket: Socket): Promise<void> {
    this.received = 0;
    this.acked = 0;
    this.unackedBytes = 0;
    try {
      const { host }: HelloResult = await this.call('host.hello', { protocol: PROTOCOL, ...this.options.hello });
      if (this.socket !== socket) return;
      this.setStatus({ state: 'open', attempt: 0, since: Date.now(), host, reason: undefined, fix: undefined });
      for (const t of this.topics.values()) this.subscribeNow(t);
    } catch (e) {
      if (this.socket !== socket || !(e instanceof ApiError) || e.code === DISCONNECTED) return;
      // A refusal (another protocol version) does not get better by asking again.
      this.drop();
      this.setStatus({ state: 'refused', reason: e.message, fix: e.fix });
    }
  }

  call<M extends keyof Methods>(method: M, params: Methods[M]['params']): Promise<Methods[M]['result']> {
    const socket = this.socket;
    if (!socket || (this.status.state !== 'open' && method !== 'host.hello')) {
      return Promise.reject(new ApiError(DISCONNECTED, 'No connection to the host'));
    }
    return new Promise((resolve, reject) => this.request(socket, method, params, { resolve: resolve as (v: unknown) => void, reject }));
  }

  private request(socket: Socket, method: string, params: unknown, pending: Pending): void {
    const id = this.nextId++;
    this.pending.set(id, pending);
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  }

  private message(socket: Socket, data: unknown): void {
    if (this.socket !== socket) return;
    if (data instanceof ArrayBuffer) {
      const frame = decodeFrame(data);
      if (frame) this.frame(frame);
      return;
    }
    const text = String(data);
    const msg = JSON.parse(text) as { id?: number; result?: unknown; error?: Parameters<typeof fromWire>[0]; method?: string; params?: unknown };
    if (msg.method === 'event') {
      this.received++;
      this.unackedBytes += text.length;
      const event = msg.params as Event;
      this.queue.push(() => this.event(event));
      return;
    }
    const pending = msg.id === undefined ? undefined : this.pending.get(msg.id);
    if (!pending) return;
    this.pending.delete(msg.id!);
    if (msg.error) pending.reject(fromWire(msg.error));
    else pending.resolve(msg.result);
  }

  private acknowledge(): void {
    if (this.received - this.acked < ACK_EVENTS / 2 && this.unackedBytes < ACK_BYTES / 2) return;
    this.acked = this.received;
    this.unackedBytes = 0;
    this.socket?.send(JSON.stringify({ jsonrpc: '2.0', method: 'ack', params: { seq: this.acked } }));
  }

  // topics

  /** Follows a topic until the returned function is called. One handler per topic. */
  follow(topic: string, handler: TopicHandler): () => void {
    const tracker = new TopicTracker(topic, handler);
    this.topics.set(topic, tracker);
    if (this.status.state === 'open') this.subscribeNow(tracker);
    return () => {
      if (this.topics.get(topic) !== tracker) return;
      this.topics.delete(topic);
      if (this.status.state === 'open') void this.call('events.unsubscribe', { topic }).catch(() => {});
    };
  }

  /** Answered within the same message, not a promise later: the events that follow come right behind it. */
  private subscribeNow(tracker: TopicTracker): void {
    if (!this.socket) return;
    this.request(this.socket, 'events.subscribe', tracker.request(), {
      resolve: (value) => {
        if (this.topics.get(tracker.topic) !== tracker) return;
        const answer = value as Subscribed;
        // Through the queue: events that arrived before it belong before it.
        this.queue.push(() => {
          if (tracker.subscribed(answer) === 'snapshot') tracker.handler.snapshot(answer.snapshot);
        });
      },
      reject: (e) => {
        if (e instanceof ApiError && e.code !== DISCONNECTED) tracker.handler.failed?.(e);
      },
    });
  }

  private event(event: Event): void {
    const tracker = this.topics.get(event.topic);
    if (!tracker) return;
    const verdict = tracker.accept(event);
    if (verdict === 'gap') this.subscribeNow(tracker);
    if (verdict === 'apply') tracker.handler.events([event]);
  }

  // terminal streams

  stream(id: number, receive: (f: Frame) => void): () => void {
    this.streams.set(id, receive);
    const early = this.early.filter((f) => f.stream === id);
    if (early.length) {
      this.early = this.early.filter((f) => f.stream !== id);
      for (const f of early) receive(f);
    }
    return () => {
      if (this.streams.get(id) === receive) this.streams.delete(id);
    };
  }

  sendFrame(kind: number, stream: number, payload: Uint8Array): void {
    this.socket?.send(encodeFrame(kind, stream, payload));
  }

  private frame(f: Frame): void {
    const receive = this.streams.get(f.stream);
    if (receive) return receive(f);
    let bytes = f.payload.length;
    for (const e of this.early) bytes += e.payload.length;
    if (bytes <= EARLY_BYTES) this.early.push(f);
  }
}
