import type { Run } from './runs';

/** Code is coloured in one worker for the whole window; until then, and when it fails, it is plain. */

let worker: Worker | null | undefined;
let next = 1;
const waiting = new Map<number, (lines: Run[][] | null) => void>();

/** More than this stays plain. */
const MAX = 200_000;

const EXTENSIONS: Record<string, string> = {
  js: 'javascript', mjs: 'javascript', cjs: 'javascript', jsx: 'javascript', ts: 'typescript', tsx: 'typescript', py: 'python', rb: 'ruby', rs: 'rust',
  sh: 'bash', zsh: 'bash', h: 'c', cc: 'cpp', hpp: 'cpp', cs: 'csharp', kt: 'kotlin', md: 'markdown', yml: 'yaml', toml: 'ini', html: 'xml', svelte: 'xml', vue: 'xml', svg: 'xml',
};

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

/** Lines of coloured runs, or null when the code stays plain. */
export function highlight(code: string, lang: string): Promise<Run[][] | null> {
  if (!lang || code.length > MAX) return Promise.resolve(null);
  if (worker === undefined) worker = start();
  const w = worker;
  if (!w) return Promise.resolve(null);
  const id = next++;
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    w.postMessage({ id, lang: EXTENSIONS[lang] ?? lang, code });
  });
}
