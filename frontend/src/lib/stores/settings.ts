import type { Settings } from '../api/types.gen';

/** What the window reads from the settings, with the value it has when nothing is set. */
export interface Preferences {
  theme: 'system' | 'light' | 'dark';
  density: 'comfortable' | 'compact';
  zoom: number;
  keepRunning: boolean;
  chatFont: string;
  codeFont: string;
  terminalFamily: string;
  terminalFont: number;
  scrollback: number;
  /** The terminal app that chats are continued in; empty: a tab here. */
  terminalApp: string;
  notify: boolean;
  notifyWaiting: boolean;
  notifyFinished: boolean;
  notifyFailed: boolean;
  notifyText: boolean;
  notifySound: boolean;
  /** The key that sends a message; the other one makes a new line. */
  sendWith: 'enter' | 'ctrlEnter';
}

/** Where each one is in settings.json. */
export const PATHS: { readonly [K in keyof Preferences]: string } = {
  theme: 'general.theme',
  density: 'general.density',
  zoom: 'general.zoom',
  keepRunning: 'general.keepRunning',
  chatFont: 'general.chatFont',
  codeFont: 'general.codeFont',
  terminalFamily: 'terminal.font',
  terminalFont: 'terminal.fontSize',
  scrollback: 'terminal.scrollback',
  terminalApp: 'terminal.app',
  notify: 'notifications.enabled',
  notifyWaiting: 'notifications.waiting',
  notifyFinished: 'notifications.finished',
  notifyFailed: 'notifications.failed',
  notifyText: 'notifications.showText',
  notifySound: 'notifications.sound',
  sendWith: 'chats.sendWith',
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
  const text = (v: unknown) => (typeof v === 'string' ? v.trim() : '');
  const yes = (v: unknown, rest: boolean) => (typeof v === 'boolean' ? v : rest);
  const theme = at('theme');
  return {
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    density: at('density') === 'compact' ? 'compact' : 'comfortable',
    zoom: number(at('zoom'), 80, 200, 100),
    keepRunning: at('keepRunning') === true,
    terminalFont: number(at('terminalFont'), 6, 48, 12),
    scrollback: number(at('scrollback'), 0, 100_000, 10_000),
    chatFont: text(at('chatFont')),
    codeFont: text(at('codeFont')),
    terminalFamily: text(at('terminalFamily')),
    terminalApp: text(at('terminalApp')),
    notify: yes(at('notify'), true),
    notifyWaiting: yes(at('notifyWaiting'), true),
    notifyFinished: yes(at('notifyFinished'), true),
    notifyFailed: yes(at('notifyFailed'), true),
    notifyText: yes(at('notifyText'), false),
    notifySound: yes(at('notifySound'), false),
    sendWith: at('sendWith') === 'ctrlEnter' ? 'ctrlEnter' : 'enter',
  };
}

/** A person's font before the fonts that stand in for it. What is no family name cannot leave the list. */
export function fontStack(names: string, rest: string): string {
  const own = names.split(',').map((n) => n.trim().replace(/^["']|["']$/g, '')).filter((n) => n && !/["'\\;{}()<>]/.test(n));
  return [...own.map((n) => (/^(serif|sans-serif|monospace|system-ui|ui-monospace)$/.test(n) ? n : `"${n}"`)), rest].join(', ');
}
