import { spawn, execFileSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as base } from './playwright';

const root = join(__dirname, '../..');

/** The program under test: WHIPPLETREE_BIN, else built once beside the other test output. */
function binary(): string {
  if (process.env.WHIPPLETREE_BIN) return process.env.WHIPPLETREE_BIN;
  const out = join(root, 'e2e/out/whippletree');
  execFileSync('go', ['build', '-o', out, './backend/cmd/whippletree'], { cwd: root, stdio: 'inherit', env: { ...process.env, CGO_ENABLED: '0' } });
  return out;
}

let built: string | undefined;

export interface Host {
  url: string;
  home: string;
  project: string;
  bin: string;
  env: NodeJS.ProcessEnv;
}

/** The host would wait half a minute for its window to come back; its lock names its process. */
async function endHost(lock: string): Promise<void> {
  try {
    const { pid } = JSON.parse(readFileSync(lock, 'utf8')) as { pid: number };
    process.kill(pid, 'SIGTERM');
    for (let i = 0; i < 100; i++) {
      process.kill(pid, 0);
      await new Promise((r) => setTimeout(r, 100));
    }
  } catch {
    // It has ended.
  }
}

/** A host of its own, with a home of its own, that serves the window. */
export const test = base.extend<{ host: Host }>({
  host: async ({}, use) => {
    built ??= binary();
    if (!existsSync(join(root, 'frontend/dist/index.html'))) throw new Error('the front end is not built: npm run build');
    const dir = mkdtempSync(join(tmpdir(), 'wt-e2e-'));
    const home = join(dir, 'home');
    const project = join(dir, 'scratch');
    for (const d of [home, project, join(home, 'data')]) mkdirSync(d, { mode: 0o700, recursive: true });
    const env = { PATH: process.env.PATH, LANG: 'C.UTF-8', TERM: 'xterm-256color', SHELL: '/bin/bash', HOME: home, WHIPPLETREE_HOME: join(home, 'data') } as NodeJS.ProcessEnv;
    // Only a person may answer approvals, and a person sits at a terminal: this
    // shell has the name of one. (The guard says itself that it is none against this.)
    symlinkSync('/bin/sh', join(dir, 'xterm'));
    const child: ChildProcess = spawn(join(dir, 'xterm'), ['-c', '"$0" web --no-open; exit $?', built], { env, cwd: project, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let log = '';
    const url = await new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no address within 20 s:\n${log}`)), 20_000);
      const read = (d: Buffer) => {
        log += d;
        const m = /http:\/\/127\.0\.0\.1:\d+\/\S*/.exec(log);
        if (m) (clearTimeout(timer), resolve(m[0]));
      };
      child.stdout!.on('data', read);
      child.stderr!.on('data', read);
      child.on('exit', (code) => reject(new Error(`whippletree web ended with ${code}:\n${log}`)));
    });
    await use({ url, home, project, bin: built, env });
    child.removeAllListeners('exit');
    const gone = new Promise((r) => child.on('exit', r));
    process.kill(-child.pid!, 'SIGINT');
    await gone;
    await endHost(join(home, 'data/host.lock'));
    rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  },
});

export { expect } from './playwright';
