import { createSubscriber } from 'svelte/reactivity';

/**
 * The one clock of the window. It runs only while the page is visible and
 * something that is shown reads it: without readers, or hidden, it has no timer.
 */
export interface Clock {
  /** Told every half minute, every second while somebody asks for seconds. */
  readonly now: number;
  /** Now, told again when the age of one of these times reads differently. */
  ages(since: readonly number[]): number;
  /** Asks for seconds until the returned function is called. */
  seconds(): () => void;
}

const SECOND = 1000;
const SLOW = 30 * SECOND;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Milliseconds until an age in its thin form reads differently; under a minute lists count in half minutes. */
export function untilNextAge(since: number, now: number): number {
  if (!since) return Infinity;
  const old = Math.max(0, now - since);
  const unit = old < MINUTE ? SLOW : old < HOUR ? MINUTE : old < DAY ? HOUR : DAY;
  return unit - (old % unit);
}

export function createClock(): Clock {
  let ticks = $state(0);
  let turns = $state(0);
  let wanted = 0;
  let slow = false;
  let aged = false;
  let due = Infinity;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function plan() {
    clearTimeout(timer);
    timer = undefined;
    if (document.hidden) return;
    const wait = wanted > 0 ? SECOND : Math.min(slow ? SLOW : Infinity, aged ? Math.max(SECOND, due - Date.now()) : Infinity);
    if (wait < Infinity) timer = setTimeout(tick, wait);
  }
  function tick() {
    ticks++;
    if (Date.now() >= due) {
      due = Infinity;
      turns++;
    }
    plan();
  }
  const readNow = createSubscriber(() => {
    slow = true;
    plan();
    return () => ((slow = false), plan());
  });
  const readAges = createSubscriber(() => {
    aged = true;
    plan();
    return () => ((aged = false), (due = Infinity), plan());
  });
  document.addEventListener('visibilitychange', () => (document.hidden ? plan() : tick()));

  return {
    get now() {
      readNow();
      void ticks;
      return Date.now();
    },
    ages(since) {
      void turns;
      const at = Date.now();
      const next = at + since.reduce((n, s) => Math.min(n, untilNextAge(s, at)), Infinity);
      const sooner = next < due;
      due = Math.min(due, next);
      readAges();
      if (sooner && aged) plan();
      return at;
    },
    seconds() {
      wanted++;
      plan();
      let done = false;
      return () => {
        if (done) return;
        done = true;
        wanted--;
        plan();
      };
    },
  };
}

/** A clock that stands still: the gallery's pictures do not change by themselves. */
export function fixedClock(now: number): Clock {
  return { now, ages: () => now, seconds: () => () => {} };
}
