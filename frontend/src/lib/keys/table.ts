/**
 * The one keyboard table: shortcuts, palette, menus and help read it. macOS uses
 * Cmd, Linux Ctrl+Shift, because a terminal may own plain Ctrl.
 */
export type CommandId =
  | 'palette' | 'nextNeedsYou' | 'focusApproval' | 'stop' | 'newChat' | 'newTerminal' | 'settings' | 'inbox'
  | 'nextTab' | 'previousTab' | 'closeTab' | 'split' | 'sidebar' | 'continueInTerminal' | 'nextRegion' | 'previousRegion'
  | 'search' | 'history' | 'exportChat' | 'archiveChat' | 'changes' | 'findInTerminal' | 'zoomIn' | 'zoomOut' | 'zoomReset' | 'theme';

export interface Command {
  id: CommandId;
  label: string;
  icon: string;
  linux: string;
  mac: string;
  /** Not offered in the palette: it is only a key. */
  keyOnly?: boolean;
}

export const COMMANDS: readonly Command[] = [
  { id: 'palette', label: 'Search or run', icon: 'search', linux: 'Ctrl+Shift+K', mac: 'Cmd+K', keyOnly: true },
  { id: 'nextNeedsYou', label: 'Go to the next that needs you', icon: 'inbox', linux: 'Ctrl+Shift+J', mac: 'Cmd+J' },
  { id: 'focusApproval', label: 'Focus the approval card', icon: 'check', linux: 'Ctrl+Shift+A', mac: 'Cmd+Shift+A' },
  { id: 'stop', label: 'Stop the turn', icon: 'stopi', linux: 'Ctrl+Shift+.', mac: 'Cmd+.' },
  { id: 'newChat', label: 'New chat', icon: 'plus', linux: 'Ctrl+Shift+N', mac: 'Cmd+N' },
  { id: 'newTerminal', label: 'New terminal', icon: 'term', linux: 'Ctrl+Shift+T', mac: 'Cmd+T' },
  { id: 'inbox', label: 'Open the inbox', icon: 'inbox', linux: 'Ctrl+Shift+I', mac: 'Cmd+Shift+I' },
  { id: 'search', label: 'Search in everything', icon: 'search', linux: 'Ctrl+Shift+S', mac: 'Cmd+Shift+F' },
  { id: 'history', label: 'History: stored sessions and the archive', icon: 'clock', linux: 'Ctrl+Shift+H', mac: 'Cmd+Shift+H' },
  { id: 'exportChat', label: 'Export the chat', icon: 'out', linux: '', mac: '' },
  { id: 'archiveChat', label: 'Archive the chat', icon: 'inbox', linux: '', mac: '' },
  { id: 'settings', label: 'Settings', icon: 'gear', linux: 'Ctrl+Shift+,', mac: 'Cmd+,' },
  { id: 'continueInTerminal', label: 'Continue in terminal', icon: 'toterm', linux: 'Ctrl+Shift+O', mac: 'Cmd+Shift+O' },
  { id: 'nextTab', label: 'Next tab', icon: 'right', linux: 'Ctrl+Tab', mac: 'Ctrl+Tab' },
  { id: 'previousTab', label: 'Previous tab', icon: 'right', linux: 'Ctrl+Shift+Tab', mac: 'Ctrl+Shift+Tab' },
  { id: 'closeTab', label: 'Close the tab', icon: 'x', linux: 'Ctrl+Shift+W', mac: 'Cmd+W' },
  { id: 'split', label: 'Open or close the split', icon: 'split', linux: 'Ctrl+Shift+D', mac: 'Cmd+D' },
  { id: 'sidebar', label: 'Show or hide the sidebar', icon: 'sidebar', linux: 'Ctrl+Shift+B', mac: 'Cmd+B' },
  { id: 'changes', label: 'Show what the chat changed', icon: 'file', linux: 'Ctrl+Shift+G', mac: 'Cmd+Shift+G' },
  { id: 'findInTerminal', label: 'Find in the terminal', icon: 'search', linux: 'Ctrl+Shift+F', mac: 'Cmd+F' },
  { id: 'theme', label: 'Switch between light and dark', icon: 'moon', linux: '', mac: '' },
  { id: 'zoomIn', label: 'Zoom in', icon: 'plus', linux: 'Ctrl+=', mac: 'Cmd+=' },
  { id: 'zoomOut', label: 'Zoom out', icon: 'plus', linux: 'Ctrl+-', mac: 'Cmd+-' },
  { id: 'zoomReset', label: 'Reset the zoom', icon: 'plus', linux: 'Ctrl+0', mac: 'Cmd+0' },
  { id: 'nextRegion', label: 'Next region', icon: 'right', linux: 'F6', mac: 'F6', keyOnly: true },
  { id: 'previousRegion', label: 'Previous region', icon: 'right', linux: 'Shift+F6', mac: 'Shift+F6', keyOnly: true },
];

export interface KeyPress {
  key: string;
  code: string;
  ctrlKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
  metaKey: boolean;
}

/** The physical key of a letter or sign, so that a layout or Shift does not change it. */
const CODES: Record<string, string> = { '.': 'Period', ',': 'Comma', '=': 'Equal', '-': 'Minus', '0': 'Digit0' };

function matches(press: KeyPress, combination: string): boolean {
  if (!combination) return false;
  const parts = combination.split('+');
  const key = parts.pop()!;
  const want = new Set(parts);
  if (press.ctrlKey !== want.has('Ctrl') || press.metaKey !== want.has('Cmd')) return false;
  if (press.shiftKey !== want.has('Shift') || press.altKey !== want.has('Alt')) return false;
  if (/^[A-Z]$/.test(key)) return press.code === `Key${key}` || (!press.code && press.key.toUpperCase() === key);
  const code = CODES[key];
  return code ? press.code === code || press.key === key : press.key === key;
}

export function commandFor(press: KeyPress, mac: boolean): CommandId | null {
  for (const c of COMMANDS) if (matches(press, mac ? c.mac : c.linux)) return c.id;
  return null;
}

/** Alt+1..9 (Cmd+1..9 on macOS) chooses a tab; -1 when the press is none of them. */
export function tabNumber(press: KeyPress, mac: boolean): number {
  const mod = mac ? press.metaKey && !press.altKey : press.altKey && !press.metaKey;
  if (!mod || press.ctrlKey || press.shiftKey) return -1;
  const m = /^Digit([1-9])$/.exec(press.code);
  return m ? Number(m[1]) - 1 : -1;
}

/** As the caps show it: "Ctrl⇧K", "⌘K". */
export function keyCaps(id: CommandId, mac: boolean): string {
  const c = COMMANDS.find((x) => x.id === id);
  const text = c ? (mac ? c.mac : c.linux) : '';
  if (!text) return '';
  if (mac) return text.replace('Cmd+', '⌘').replace('Shift+', '⇧').replace('Ctrl+', '⌃').replace('Alt+', '⌥');
  return text.replace('Ctrl+Shift+', 'Ctrl⇧').replace('Ctrl+', 'Ctrl ').replace('Shift+', '⇧').replace('Alt+', 'Alt ');
}

export const isMac = typeof navigator !== 'undefined' && /Mac/.test(navigator.platform);
