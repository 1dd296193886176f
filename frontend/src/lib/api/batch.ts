/** Runs work once per animation frame, and still runs while the page is hidden and gets no frames. */
export interface Scheduler {
  (run: () => void): void;
}

export const frameScheduler: Scheduler = (run) => {
  let done = false;
  const once = () => {
    if (done) return;
    done = true;
    clearTimeout(timer);
    run();
  };
  const timer = setTimeout(once, 120);
  if (typeof document === 'undefined' || !document.hidden) requestAnimationFrame(once);
};

/** Collects jobs in order and runs them together. */
export class FrameQueue {
  private jobs: (() => void)[] = [];
  private planned = false;

  constructor(
    private readonly schedule: Scheduler,
    private readonly after: () => void = () => {},
  ) {}

  push(job: () => void): void {
    this.jobs.push(job);
    if (this.planned) return;
    this.planned = true;
    this.schedule(() => this.flush());
  }

  flush(): void {
    this.planned = false;
    const jobs = this.jobs;
    this.jobs = [];
    for (const job of jobs) job();
    this.after();
  }

  clear(): void {
    this.jobs = [];
  }
}
