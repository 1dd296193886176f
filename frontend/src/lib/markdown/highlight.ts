import { EXTENSIONS, LANGUAGES } from './languages';
import type { Run } from './runs';

/** Code is coloured in one worker for the whole window; until then, and when it fails, it is plain. */

let worker: Worker | null | undefined;
let next = 1;
let rest: ReturnType<typeof setTimeout> | undefined;
const waiting = new Map<number, (lines: Run[][] | null) => void>();

/** More than this stays plain. */
const MAX = 200_000;

/** After so long without work the worker goes: it holds an engine of its own, some 15 MB. */
const REST_MS = 60_000;

export function languageOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  if (name === 'makefile' || name === 'dockerfile') return name;
  const ext = name.slice(name.lastIndexOf('.') + 1);
  return EXTENSIONS[ext] ?? ext;
}

function start(): Worker | null {
  if (typeof Worker === 'undefined') return null;
  try {
    const w = new Worker(new URL('./highlight.worker.ts', import.meta.url), { type: 'module' });
    w.onmessage = (e: MessageEvent<{ id: number; lines: Run[][] | null }>) => {
      waiting.get(e.data.id)?.(e.data.lines);
      waiting.delete(e.data.id);
      if (waiting.size === 0) rest = setTimeout(stop, REST_MS);
    };
    w.onerror = () => {
      worker = null;
      for (const done of waiting.values()) done(null);
      waiting.clear();
    };
    return w;
  } catch {
    return null;
  }
}

function stop(): void {
  worker?.terminate();
  worker = undefined;
}

/** Lines of coloured runs, or null when the code stays plain. */
export function highlight(code: string, lang: string): Promise<Run[][] | null> {
  const language = EXTENSIONS[lang] ?? lang;
  // A language without a grammar must not start the worker.
  if (!LANGUAGES.has(language) || code.length > MAX) return Promise.resolve(null);
  clearTimeout(rest);
  if (worker === undefined) worker = start();
  const w = worker;
  if (!w) return Promise.resolve(null);
  const id = next++;
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    w.postMessage({ id, lang: language, code });
  });
}
