import type { Client } from '../../lib/api/client';
import { ackPayload, FRAME_ACK, FRAME_INPUT, FRAME_OUTPUT, FRAME_REPLAY, FRAME_REPLAY_END, type Frame } from '../../lib/api/frames';
import type { Terminal } from '../../lib/api/types.gen';

export interface Screen {
  /** Calls done after the bytes were taken. */
  write(data: Uint8Array, done: () => void): void;
  /** Forgets everything: a replay follows. */
  reset(): void;
  /** The replay was taken to its end: what follows is live. */
  replayed?(): void;
}

/** Acknowledged at least this often; the host pauses the program far above it. */
const ACK_STEP = 32 * 1024;

/** One attachment of this window to a terminal. It ends with the connection and is made anew after it. */
export class TerminalStream {
  private stream = -1;
  private stop: (() => void) | undefined;
  private consumed = 0;
  private acked = 0;
  private pending = 0;
  private closed = false;
  private replayPending = 0;
  /** Writes of the replay that the screen has not taken yet; -1 while more of it comes. */
  private replayLeft = 0;

  /** While the screen is rebuilt nothing of it may be sent as if it were typed. */
  get replaying(): boolean {
    return this.replayLeft !== 0;
  }

  constructor(
    private readonly client: Client,
    readonly id: string,
    private readonly screen: Screen,
  ) {}

  async attach(cols: number, rows: number, focus: boolean): Promise<Terminal> {
    this.detach();
    const { stream, terminal } = await this.client.call('terminals.attach', { id: this.id, cols, rows, focus });
    if (this.closed) {
      void this.client.call('terminals.detach', { stream }).catch(() => {});
      return terminal;
    }
    this.stream = stream;
    this.consumed = this.acked = this.pending = 0;
    this.replayPending = this.replayLeft = 0;
    this.screen.reset();
    this.stop = this.client.stream(stream, (f) => this.frame(f));
    return terminal;
  }

  private frame(f: Frame): void {
    if (f.kind === FRAME_REPLAY_END) {
      this.replayLeft = this.replayPending;
      if (!this.replayLeft) this.screen.replayed?.();
      return;
    }
    if (f.kind !== FRAME_OUTPUT && f.kind !== FRAME_REPLAY) return;
    const replay = f.kind === FRAME_REPLAY;
    if (replay) {
      this.replayPending++;
      this.replayLeft = -1;
    }
    const stream = this.stream;
    this.pending++;
    this.screen.write(f.payload, () => {
      if (stream !== this.stream) return;
      this.pending--;
      if (replay) {
        this.replayPending--;
        if (this.replayLeft > 0 && --this.replayLeft === 0) this.screen.replayed?.();
      }
      this.consumed += f.payload.length;
      // Nothing waits: the host must know all of it, or it would hold back for ever.
      if (this.consumed - this.acked >= ACK_STEP || this.pending === 0) {
        this.acked = this.consumed;
        this.client.sendFrame(FRAME_ACK, stream, ackPayload(this.consumed));
      }
    });
  }

  input(data: Uint8Array): void {
    if (this.stream >= 0) this.client.sendFrame(FRAME_INPUT, this.stream, data);
  }

  detach(): void {
    this.stop?.();
    this.stop = undefined;
    this.stream = -1;
  }

  close(): void {
    this.closed = true;
    const s = this.stream;
    this.detach();
    if (s >= 0) void this.client.call('terminals.detach', { stream: s }).catch(() => {});
  }
}
