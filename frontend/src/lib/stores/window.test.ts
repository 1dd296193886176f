import { describe, expect, it } from 'vitest';
import { restored, WindowState } from './window.svelte';

const chat = (id: string) => ({ kind: 'chat' as const, id });
const term = (id: string) => ({ kind: 'terminal' as const, id });

describe('tabs and the split', () => {
  it('open once, beside, and join again', () => {
    const w = new WindowState();
    w.open(chat('a'));
    w.open(chat('b'));
    w.open(chat('a'));
    expect([w.pane.tabs.length, w.tab?.id]).toEqual([2, 'a']);
    w.open(term('t'), { beside: true });
    expect([w.panes.length, w.focused, w.tab?.id]).toEqual([2, 1, 't']);
    w.open(term('u'), { beside: true });
    expect(w.focused).toBe(0);
    w.toggleSplit();
    expect([w.panes.length, w.tab?.id, w.pane.tabs.length]).toEqual([1, 'u', 4]);
    w.toggleSplit();
    expect([w.panes.length, w.panes[1]!.tabs[0]!.id]).toEqual([2, 'u']);
    w.close(term('u'));
    expect([w.panes.length, w.focused]).toEqual([1, 0]);
  });

  it('survive a restart and refuse nonsense', () => {
    const w = new WindowState();
    w.open(chat('a'));
    w.open(term('t'), { beside: true });
    w.toggle('needs');
    const again = new WindowState();
    again.restore(restored(JSON.parse(JSON.stringify(w.keep())))!);
    expect(again.keep()).toEqual(w.keep());
    expect(restored(null)).toBeNull();
    expect(restored({ v: 2 })).toBeNull();
    expect(restored({ v: 1, panes: [{ tabs: [{ kind: 'x', id: 1 }, chat('ok')], active: 9 }], side: 9999 })).toMatchObject({ panes: [{ tabs: [chat('ok')], active: 0 }], side: 480 });
  });
});
