import { describe, expect, it } from 'vitest';
import { readFileSync } from 'node:fs';
import { fontStack, PATHS, preferences, valueAt } from './settings';

const schema = JSON.parse(readFileSync(new URL('../../../../backend/settings/schema.json', import.meta.url), 'utf8'));

describe('the settings the window reads', () => {
  it('are all in the schema of the file', () => {
    for (const path of Object.values(PATHS)) {
      const at = path.split('.').reduce<{ properties?: Record<string, unknown> } | undefined>((s, part) => s?.properties?.[part] as never, schema);
      expect(at, path).toBeDefined();
    }
  });
  it('fall back where the file has nothing or nonsense', () => {
    expect(preferences(null)).toMatchObject({ theme: 'system', zoom: 100, notify: true, notifyText: false, terminalApp: '' });
    expect(preferences({ values: { general: { zoom: 900, theme: 'pink', chatFont: 7 }, notifications: { enabled: 'no' } }, path: '' })).toMatchObject({ theme: 'system', zoom: 100, chatFont: '', notify: true });
    expect(valueAt({ a: { b: 1 } }, 'a.b')).toBe(1);
    expect(valueAt({}, 'constructor')).toBeUndefined();
  });
  it('put a font before those that stand in for it, and nothing else', () => {
    expect(fontStack('', 'sans-serif')).toBe('sans-serif');
    expect(fontStack('Iosevka Term, "Noto Sans", monospace', 'x')).toBe('"Iosevka Term", "Noto Sans", monospace, x');
    expect(fontStack('a"; } body { color: red', 'x')).toBe('x');
  });
});
