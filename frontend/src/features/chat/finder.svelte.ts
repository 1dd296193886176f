import { tick, untrack } from 'svelte';
import { findIn, hiddenBy, MAX_HITS, rangesIn, type Hit, type Searched } from './find';
import type { Entry, TimelineRow } from './timeline';

export interface FinderView<R extends Searched & TimelineRow> {
  rows(): readonly R[];
  entries(): readonly Entry<R>[];
  toggled(): ReadonlySet<string>;
  toggle(id: string): void;
  /** Fetches the page before; false when there is none. */
  older(): Promise<boolean>;
  /** From now on the timeline stays where it is. */
  hold(): void;
  /** Scrolls to the entry with this index. */
  show(index: number): void;
  root(): HTMLElement | undefined;
}

/** So many pages of older rows are read for one search. */
const MAX_PAGES = 500;
/** What was typed is found at once in what is here; older rows wait until the typing and the scrolling are over. */
const SETTLES = 400;

/** The words found on the page are drawn by the browser, without a change of the page. */
const draw = typeof CSS !== 'undefined' && 'highlights' in CSS && typeof Highlight !== 'undefined';

/** Find in one chat: over the model, not over what happens to be drawn. */
export class Finder<R extends Searched & TimelineRow> {
  open = $state(false);
  text = $state('');
  hits = $state.raw<readonly Hit[]>([]);
  at = $state(0);
  searching = $state(false);
  /** The row to begin at, until it is there. */
  private want = '';
  private run = 0;
  private frame = 0;

  constructor(private readonly view: FinderView<R>) {
    $effect(() => {
      if (!this.open) return;
      const text = this.text;
      untrack(() => void this.search(text));
    });
  }

  get capped(): boolean {
    return this.hits.length >= MAX_HITS;
  }

  /** The row that is shown as found. */
  get current(): string {
    return this.open ? (this.hits[this.at]?.id ?? '') : '';
  }

  start(): void {
    this.open = true;
  }

  /** Begins at a row that was found elsewhere: older pages are read until it is there. */
  startAt(text: string, id: string): void {
    this.want = id;
    this.text = text;
    this.open = true;
  }

  stop(): void {
    this.run++;
    this.want = '';
    this.open = false;
    this.searching = false;
    this.hits = [];
    this.clear();
  }

  step(by: number): void {
    const n = this.hits.length;
    if (!n) return;
    this.at = (this.at + by + n) % n;
    void this.reveal();
  }

  /** The newest place first: a chat is read at its end. Then older pages, without moving what is shown. */
  private async search(text: string): Promise<void> {
    const run = ++this.run;
    this.hits = findIn(this.view.rows(), text);
    this.at = Math.max(0, this.hits.length - 1);
    const there = this.wanted();
    this.clear();
    if (!text.trim()) {
      this.searching = false;
      return;
    }
    if (this.hits.length && (there || !this.want)) await this.reveal();
    this.searching = true;
    await new Promise((r) => setTimeout(r, SETTLES));
    for (let i = 0; i < MAX_PAGES && run === this.run; i++) {
      const known = this.view.rows().length;
      const more = await this.view.older();
      if (run !== this.run) return;
      this.again(text);
      // Nothing came: there is no more, or it cannot be had.
      if (!more || this.view.rows().length === known) break;
    }
    if (run !== this.run) return;
    this.again(text);
    this.searching = false;
    // What was wanted is not there: the newest place is.
    if (this.want && this.hits.length) void this.reveal();
    this.want = '';
  }

  /** Steps to the row that is wanted, once it is known. */
  private wanted(): boolean {
    const at = this.want ? this.hits.findIndex((h) => h.id === this.want) : -1;
    if (at < 0) return false;
    this.at = at;
    this.want = '';
    return true;
  }

  /** More rows are known: what is shown stays shown. */
  private again(text: string): void {
    const had = this.hits.length;
    const was = this.hits[this.at];
    const hits = findIn(this.view.rows(), text);
    this.hits = hits;
    this.at = was ? Math.max(0, hits.findIndex((h) => h.id === was.id && h.nth === was.nth)) : Math.max(0, hits.length - 1);
    if (this.wanted() || (!had && hits.length && !this.want)) void this.reveal();
  }

  private async reveal(): Promise<void> {
    const hit = this.hits[this.at];
    if (!hit) return;
    this.view.hold();
    for (let i = 0; i < 8; i++) {
      const index = this.view.entries().findIndex((e) => e.kind === 'row' && e.id === hit.id);
      if (index >= 0) {
        this.view.show(index);
        break;
      }
      const closed = hiddenBy(this.view.entries(), this.view.rows(), this.view.toggled(), hit.id);
      if (!closed) break;
      this.view.toggle(closed);
      await tick();
    }
    this.drawn();
  }

  /** What is drawn changed: the words are marked anew in the next frame. */
  drawn(): void {
    if (!this.open || !draw || this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const root = this.view.root();
      if (!root || !this.open) return;
      const hit = this.hits[this.at];
      const all = rangesIn(root, this.text);
      const row = hit ? root.querySelector(`[data-entry="${CSS.escape(hit.id)}"]`) : null;
      const here = row ? rangesIn(row, this.text) : [];
      CSS.highlights.set('found', new Highlight(...all));
      CSS.highlights.set('found-here', new Highlight(...here.slice(Math.min(hit?.nth ?? 0, here.length - 1)).slice(0, 1)));
    });
  }

  private clear(): void {
    if (!draw) return;
    CSS.highlights.delete('found');
    CSS.highlights.delete('found-here');
  }
}
