import { describe, expect, it } from 'vitest';
import { COMMANDS, commandFor, keyCaps, tabNumber, type KeyPress } from './table';

const press = (p: Partial<KeyPress>): KeyPress => ({ key: '', code: '', ctrlKey: false, shiftKey: false, altKey: false, metaKey: false, ...p });

describe('the keyboard table', () => {
  it('gives each combination to one command', () => {
    for (const os of ['linux', 'mac'] as const) {
      const used = COMMANDS.map((c) => c[os]).filter(Boolean);
      expect(new Set(used).size).toBe(used.length);
    }
  });

  it('leaves plain Ctrl and the input methods of Linux alone', () => {
    for (const c of COMMANDS) {
      expect(c.linux).not.toMatch(/^Ctrl\+[A-Z]$/);
      expect(c.linux).not.toMatch(/^Ctrl\+Shift\+[UE]$/);
    }
  });

  it('finds commands by the physical key', () => {
    expect(commandFor(press({ key: 'K', code: 'KeyK', ctrlKey: true, shiftKey: true }), false)).toBe('palette');
    expect(commandFor(press({ key: 'к', code: 'KeyK', ctrlKey: true, shiftKey: true }), false)).toBe('palette');
    expect(commandFor(press({ key: '>', code: 'Period', ctrlKey: true, shiftKey: true }), false)).toBe('stop');
    expect(commandFor(press({ key: 'k', code: 'KeyK', metaKey: true }), true)).toBe('palette');
    expect(commandFor(press({ key: 'k', code: 'KeyK', ctrlKey: true }), false)).toBeNull();
    expect(commandFor(press({ key: 'F6', code: 'F6' }), false)).toBe('nextRegion');
  });

  it('counts tabs', () => {
    expect(tabNumber(press({ code: 'Digit3', altKey: true }), false)).toBe(2);
    expect(tabNumber(press({ code: 'Digit3', metaKey: true }), true)).toBe(2);
    expect(tabNumber(press({ code: 'Digit3' }), false)).toBe(-1);
  });

  it('shows caps', () => {
    expect(keyCaps('palette', false)).toBe('Ctrl⇧K');
    expect(keyCaps('palette', true)).toBe('⌘K');
  });
});
