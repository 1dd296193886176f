import type { ITheme } from '@xterm/xterm';

const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;

/** The terminal's colours, read from the tokens in force. */
export function terminalTheme(style: Pick<CSSStyleDeclaration, 'getPropertyValue'> = getComputedStyle(document.documentElement)): ITheme {
  const v = (name: string) => style.getPropertyValue(name).trim();
  const theme: Record<string, string> = {
    background: v('--term-bg'),
    foreground: v('--term-fg'),
    cursor: v('--term-cursor'),
    cursorAccent: v('--term-bg'),
    selectionBackground: v('--term-sel'),
  };
  for (const n of NAMES) {
    theme[n] = v(`--t-${n}`);
    theme[`bright${n[0]!.toUpperCase()}${n.slice(1)}`] = v(`--t-b-${n}`);
  }
  return theme as ITheme;
}

/** The sixteen colours in the order of the palette. */
export function palette(theme: ITheme): string[] {
  const t = theme as Record<string, string>;
  return [...NAMES.map((n) => t[n]!), ...NAMES.map((n) => t[`bright${n[0]!.toUpperCase()}${n.slice(1)}`]!)];
}
