import type { Settings } from '../api/types.gen';

/** What the window reads from the settings, with the value it has when nothing is set. */
export interface Preferences {
  theme: 'system' | 'light' | 'dark';
  density: 'comfortable' | 'compact';
  zoom: number;
  keepRunning: boolean;
  terminalFont: number;
  scrollback: number;
}

/** Where each one is in settings.json. */
export const PATHS: { readonly [K in keyof Preferences]: string } = {
  theme: 'general.theme',
  density: 'general.density',
  zoom: 'general.zoom',
  keepRunning: 'general.keepRunning',
  terminalFont: 'terminal.fontSize',
  scrollback: 'terminal.scrollback',
};

export function valueAt(values: unknown, path: string): unknown {
  let v = values;
  for (const part of path.split('.')) {
    if (typeof v !== 'object' || v === null || !Object.hasOwn(v, part)) return undefined;
    v = (v as Record<string, unknown>)[part];
  }
  return v;
}

export function preferences(settings: Settings | null): Preferences {
  const at = (k: keyof Preferences) => valueAt(settings?.values, PATHS[k]);
  const number = (v: unknown, low: number, high: number, rest: number) => (typeof v === 'number' && v >= low && v <= high ? v : rest);
  const theme = at('theme');
  return {
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    density: at('density') === 'compact' ? 'compact' : 'comfortable',
    zoom: number(at('zoom'), 80, 200, 100),
    keepRunning: at('keepRunning') === true,
    terminalFont: number(at('terminalFont'), 6, 48, 12),
    scrollback: number(at('scrollback'), 0, 100_000, 10_000),
  };
}
