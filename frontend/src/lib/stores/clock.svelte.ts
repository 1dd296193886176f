/** The one clock of the window: every 30 s, every second while somebody asks for seconds, never while hidden. */
export interface Clock {
  readonly now: number;
  /** Asks for seconds until the returned function is called. */
  seconds(): () => void;
}

export function createClock(): Clock {
  let now = $state(Date.now());
  let wanted = 0;
  let timer: ReturnType<typeof setInterval> | undefined;

  function plan() {
    clearInterval(timer);
    timer = undefined;
    if (document.hidden) return;
    now = Date.now();
    timer = setInterval(() => (now = Date.now()), wanted > 0 ? 1000 : 30_000);
  }
  document.addEventListener('visibilitychange', plan);
  plan();

  return {
    get now() {
      return now;
    },
    seconds() {
      if (wanted++ === 0) plan();
      let done = false;
      return () => {
        if (done) return;
        done = true;
        if (--wanted === 0) plan();
      };
    },
  };
}

/** A clock that stands still: the gallery's pictures do not change by themselves. */
export function fixedClock(now: number): Clock {
  return { now, seconds: () => () => {} };
}
