import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** The gallery is built anew; the window only when nobody built it yet. */
export default function setup(): void {
  const root = new URL('..', import.meta.url).pathname;
  const vite = (...args: string[]) => execFileSync('npx', ['vite', 'build', '--logLevel', 'warn', ...args], { cwd: root, stdio: 'inherit' });
  if (!process.env.WHIPPLETREE_GALLERY_BUILT) vite('--mode', 'gallery');
  if (!existsSync(`${root}dist/index.html`)) vite();
}
