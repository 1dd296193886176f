// @vitest-environment jsdom
import { Terminal } from '@xterm/xterm';
import { describe, expect, it } from 'vitest';
import { silenceQueries } from './queries';
import { decidesSize, followSize, SIZE_OPTIONS } from './size';

const write = (t: Terminal, text: string) => new Promise<void>((r) => t.write(text, r));
const line = (t: Terminal, y: number) => t.buffer.active.getLine(y)?.translateToString(true) ?? '';

describe('the size in the stream', () => {
  it('is followed at its byte, as the screen was drawn', async () => {
    const t = new Terminal({ cols: 80, rows: 24, windowOptions: SIZE_OPTIONS, allowProposedApi: true });
    silenceQueries(t);
    let told = 0;
    followSize(t, () => told++);
    // Drawn for 10 columns: the line wraps there; after it for 20.
    await write(t, '\x1bc\x1b[8;5;10tabcdefghijKLM\r\n\x1b[8;6;20tabcdefghijKLM');
    expect([t.cols, t.rows, told]).toEqual([20, 6, 2]);
    const lines = [0, 1, 2].map((y) => line(t, y));
    // xterm.js joins a wrapped line again when there is room.
    expect(lines.filter(Boolean).join('|')).toBe('abcdefghijKLM|abcdefghijKLM');
    t.dispose();
  });

  it('ignores nonsense and leaves other window commands alone', async () => {
    const t = new Terminal({ cols: 80, rows: 24, windowOptions: SIZE_OPTIONS, allowProposedApi: true });
    followSize(t, () => {});
    await write(t, '\x1b[8;0;0t\x1b[8t\x1b[8;99999;5t\x1b[22;0t');
    expect([t.cols, t.rows]).toEqual([80, 24]);
    t.dispose();
  });

  it('is decided by the window a person is in', () => {
    expect(decidesSize({ windows: 1, paneFocused: false, windowFocused: false })).toBe(true);
    expect(decidesSize({ windows: 2, paneFocused: true, windowFocused: true })).toBe(true);
    expect(decidesSize({ windows: 2, paneFocused: true, windowFocused: false })).toBe(false);
    expect(decidesSize({ windows: 2, paneFocused: false, windowFocused: true })).toBe(false);
  });
});
