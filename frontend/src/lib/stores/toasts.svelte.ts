/** Notes about acts that have no place of their own. At most two; errors stay until closed. */
export interface Toast {
  id: number;
  kind: 'info' | 'done' | 'error';
  text: string;
  detail?: string;
  action?: { label: string; run: () => void };
}

export class Toasts {
  items = $state.raw<readonly Toast[]>([]);
  private next = 1;
  private readonly timers = new Map<number, ReturnType<typeof setTimeout>>();

  show(t: Omit<Toast, 'id'>): void {
    const toast = { ...t, id: this.next++ };
    for (const old of this.items.slice(0, -1)) this.close(old.id);
    this.items = [...this.items, toast];
    this.resume(toast.id);
  }

  error(text: string, detail?: string): void {
    this.show({ kind: 'error', text, detail });
  }

  close(id: number): void {
    this.hold(id);
    this.items = this.items.filter((t) => t.id !== id);
  }

  /** Stops its time while it is hovered or focused. */
  hold(id: number): void {
    clearTimeout(this.timers.get(id));
    this.timers.delete(id);
  }

  resume(id: number): void {
    const t = this.items.find((x) => x.id === id);
    if (!t || t.kind === 'error') return;
    this.hold(id);
    this.timers.set(id, setTimeout(() => this.close(id), t.action ? 10_000 : 6_000));
  }
}
