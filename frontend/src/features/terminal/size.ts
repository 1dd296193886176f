import type { IDisposable, IWindowOptions, Terminal } from '@xterm/xterm';

/** Without it xterm.js drops size changes before any handler sees them. */
export const SIZE_OPTIONS: IWindowOptions = { setWinSizeChars: true };

/**
 * The host's stream says `CSI 8 ; rows ; cols t` wherever the size changed:
 * what follows was drawn for that size. No program can send it, the host cuts
 * theirs out.
 */
export function followSize(term: Terminal, done: () => void): IDisposable {
  return term.parser.registerCsiHandler({ final: 't' }, (params) => {
    if (Number(params[0]) !== 8) return false;
    const [rows, cols] = [Number(params[1]), Number(params[2])];
    if (rows > 0 && rows <= 1000 && cols > 0 && cols <= 2000) term.resize(cols, rows);
    done();
    return true;
  });
}

/**
 * Whether this window says how large a terminal is. When several windows show
 * it only the one a person is in does; the others show the host's size.
 */
export function decidesSize(o: { windows: number; paneFocused: boolean; windowFocused: boolean }): boolean {
  return o.windows <= 1 || (o.paneFocused && o.windowFocused);
}
