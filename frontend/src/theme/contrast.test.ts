import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** Contrast of the tokens in both themes, as they are in the file: text 4.5:1, marks and borders that identify a control 3:1. */

const css = readFileSync(new URL('./tokens.css', import.meta.url), 'utf8');

function tokens(selector: string): Map<string, string> {
  const at = css.indexOf(selector);
  const block = css.slice(css.indexOf('{', at) + 1, css.indexOf('}', at));
  return new Map([...block.matchAll(/(--[\w-]+):\s*(#[0-9a-f]{6})/g)].map((m) => [m[1]!, m[2]!]));
}

const channel = (v: number) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => channel(parseInt(hex.slice(i, i + 2), 16) / 255)) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
export function contrast(a: string, b: string): number {
  const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p) as [number, number];
  return (x + 0.05) / (y + 0.05);
}

const SURFACES = ['--bg', '--bg-side', '--bg-raised', '--bg-inset', '--bg-pop'];
const STATES = ['need', 'work', 'done', 'fail'];

const themes = { light: tokens(':root, html.light {'), dark: tokens('html.dark {'), 'dark of the system': tokens('html:not(.light):not(.dark)') };

it('both ways to the dark theme are the same', () => {
  expect([...themes['dark of the system']]).toEqual([...themes.dark]);
});

for (const [name, t] of Object.entries(themes))
  describe(name, () => {
    const v = (token: string) => {
      const hex = t.get(token);
      if (!hex) throw new Error(`${token} has no plain colour`);
      return hex;
    };
    const check = (low: number, front: string, backs: string[]) =>
      it(`${front} is at least ${low}:1`, () => {
        const weak = backs.map((b) => [b, contrast(v(front), v(b))] as const).filter(([, c]) => c < low);
        expect(weak.map(([b, c]) => `${front} on ${b}: ${c.toFixed(2)}`)).toEqual([]);
      });

    for (const text of ['--text', '--text-2', '--text-3']) check(4.5, text, [...SURFACES, '--bg-hover', '--bg-sel', ...STATES.map((s) => `--${s}-bg`)]);
    check(4.5, '--accent', SURFACES);
    check(4.5, '--on-accent', ['--accent-fill', '--accent-fill-hover']);
    check(3, '--focus', [...SURFACES, '--bg-sel', '--bg-hover']);
    check(3, '--control', SURFACES);
    check(3, '--calm', [...SURFACES, '--bg-sel', '--bg-hover']);
    for (const s of STATES) {
      check(4.5, `--${s}-text`, [...SURFACES, `--${s}-bg`, '--bg-hover', '--bg-sel']);
      check(3, `--${s}`, [...SURFACES, `--${s}-bg`, '--bg-sel']);
    }
    check(4.5, '--add-text', ['--add-bg', ...SURFACES]);
    check(4.5, '--del-text', ['--del-bg', ...SURFACES]);
    for (const role of ['key', 'str', 'num', 'fn', 'com']) check(4.5, `--hl-${role}`, ['--bg', '--bg-inset', '--add-bg', '--del-bg']);
    check(4.5, '--term-fg', ['--term-bg', '--term-sel']);
    for (const c of ['red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']) for (const b of ['', 'b-']) check(4.5, `--t-${b}${c}`, ['--term-bg']);
    for (const c of ['--t-black', '--t-b-black']) check(3, c, ['--term-bg']);
  });
