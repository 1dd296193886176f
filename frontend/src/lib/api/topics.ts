import type { Event, Subscribe, Subscribed } from './types.gen';

export interface TopicHandler {
  /** The whole state, at the start and whenever the stream could not be continued. */
  snapshot(value: unknown): void;
  /** What changed since, in order, as one batch per frame. */
  events(batch: Event[]): void;
  /** The topic cannot be had (removed, unknown). */
  failed?(error: unknown): void;
}

/**
 * Where one topic stands: which event comes next, and whether anything may be
 * applied. A number that does not follow the last one is a gap, after which
 * nothing is applied until a new snapshot.
 */
export class TopicTracker {
  seq = 0;
  epoch = '';
  private live = false;

  constructor(
    readonly topic: string,
    readonly handler: TopicHandler,
  ) {}

  /** The request that continues this topic. Until its answer events are ignored. */
  request(): Subscribe {
    this.live = false;
    if (!this.epoch) return { topic: this.topic };
    return { topic: this.topic, since: this.seq, epoch: this.epoch };
  }

  /** Forgets what was seen: the next request asks for a snapshot. */
  reset(): void {
    this.live = false;
    this.seq = 0;
    this.epoch = '';
  }

  subscribed(answer: Subscribed): 'snapshot' | 'resumed' {
    const resumed = answer.resumed === true && answer.epoch === this.epoch;
    this.live = true;
    this.epoch = answer.epoch;
    // A resumed stream goes on after what we have, not after what the host has.
    if (!resumed) this.seq = answer.seq;
    return resumed ? 'resumed' : 'snapshot';
  }

  accept(event: Event): 'apply' | 'ignore' | 'gap' {
    if (!this.live) return 'ignore';
    if (event.type === 'gap') {
      this.reset();
      return 'gap';
    }
    if (event.seq <= this.seq) return 'ignore';
    if (event.seq !== this.seq + 1) {
      this.reset();
      return 'gap';
    }
    this.seq = event.seq;
    return 'apply';
  }
}
