/** Times, sizes and counts in their thin form. All times are epoch milliseconds, 0 is unknown. */

export function age(since: number, now: number): string {
  if (!since) return '';
  const s = Math.max(0, Math.floor((now - since) / 1000));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m`;
  if (s < 86400) return `${Math.floor(s / 3600)}h`;
  return `${Math.floor(s / 86400)}d`;
}

/** For lists: minutes, with seconds only under a minute. */
export function longAge(since: number, now: number): string {
  const a = age(since, now);
  const units: Record<string, string> = { s: 'seconds', m: 'minutes', h: 'hours', d: 'days' };
  const n = a.slice(0, -1);
  const unit = units[a.slice(-1)];
  if (!unit) return '';
  return `${n} ${n === '1' ? unit.slice(0, -1) : unit}`;
}

export function waits(since: number, now: number): string {
  const s = Math.max(0, Math.floor((now - since) / 1000));
  if (s < 1) return 'just now';
  if (s < 60) return `waits ${s} s`;
  if (s < 3600) return `waits ${Math.floor(s / 60)} min`;
  return `waits ${Math.floor(s / 3600)} h`;
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 60_000) return `${Math.round(ms / 1000)} s`;
  const m = Math.floor(ms / 60_000);
  const s = Math.round((ms % 60_000) / 1000);
  return s ? `${m} min ${s} s` : `${m} min`;
}

export function clockTime(at: number): string {
  if (!at) return '';
  const d = new Date(at);
  return `${String(d.getHours()).padStart(2, '0')}:${String(d.getMinutes()).padStart(2, '0')}`;
}

export function tokens(n: number): string {
  if (n < 1000) return String(n);
  if (n < 1_000_000) return `${Math.round(n / 1000)}k`;
  return `${(n / 1_000_000).toFixed(1)}M`;
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${Math.round(n / 1024)} kB`;
  return `${(n / 1024 / 1024).toFixed(1)} MB`;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
}

/** A path in two parts: the head may be cut by CSS, the file name never is. */
export function splitPath(path: string): { head: string; tail: string } {
  const at = path.lastIndexOf('/');
  if (at <= 0 || at === path.length - 1) return { head: '', tail: path };
  return { head: path.slice(0, at), tail: path.slice(at) };
}

/** The home folder as ~. */
export function tilde(path: string, home: string): string {
  if (!home) return path;
  if (path === home) return '~';
  return path.startsWith(home + '/') ? `~${path.slice(home.length)}` : path;
}
