/** What a person writes about how an agent is started, to and from settings.json. */
export interface LaunchText {
  label: string;
  binary: string;
  /** One argument a line. */
  args: string;
  /** NAME=VALUE a line. */
  env: string;
  envFile: string;
}

/** An entry of `harnesses` in settings.json. */
export interface LaunchEntry {
  enabled?: boolean;
  extends?: string;
  label?: string;
  binary?: string;
  args?: string[];
  env?: Record<string, string>;
  envFile?: string;
}

/** The entry of one agent in the settings' values; empty when there is none. */
export function entryOf(values: unknown, id: string): LaunchEntry {
  const all = (values as { harnesses?: Record<string, LaunchEntry> } | null | undefined)?.harnesses;
  return (all && Object.hasOwn(all, id) ? all[id] : undefined) ?? {};
}

export function textOf(e: LaunchEntry): LaunchText {
  return {
    label: e.label ?? '',
    binary: e.binary ?? '',
    args: (e.args ?? []).join('\n'),
    env: Object.entries(e.env ?? {}).map(([k, v]) => `${k}=${v}`).join('\n'),
    envFile: e.envFile ?? '',
  };
}

/** The entry with the text in it, or why a line cannot be taken. What is empty is left out. */
export function entryFrom(old: LaunchEntry, t: LaunchText): { entry: LaunchEntry } | { error: string } {
  const env: Record<string, string> = {};
  for (const [i, raw] of t.env.split('\n').entries()) {
    if (!raw.trim()) continue;
    const at = raw.indexOf('=');
    const name = raw.slice(0, at).trim();
    if (at < 1 || !/^[A-Za-z_]\w*$/.test(name)) return { error: `Environment, line ${i + 1}: NAME=VALUE is needed, not “${raw.trim().slice(0, 40)}”` };
    env[name] = raw.slice(at + 1);
  }
  const args = t.args.split('\n').filter((a) => a !== '');
  const entry: LaunchEntry = {};
  if (old.enabled !== undefined) entry.enabled = old.enabled;
  if (old.extends) entry.extends = old.extends;
  if (t.label.trim() && old.extends) entry.label = t.label.trim();
  if (t.binary.trim()) entry.binary = t.binary.trim();
  if (args.length) entry.args = args;
  if (Object.keys(env).length) entry.env = env;
  if (t.envFile.trim()) entry.envFile = t.envFile.trim();
  return { entry };
}

/** An id made of a name: what settings.json allows, and not taken yet. */
export function idFrom(label: string, taken: readonly string[]): string {
  const base = label.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 48) || 'agent';
  for (let n = 1; ; n++) {
    const id = n === 1 ? base : `${base}-${n}`;
    if (!taken.includes(id)) return id;
  }
}

/** JSON pointer of an agent's entry: its id may hold dots. */
export const pathOf = (id: string): string => `/harnesses/${id.replaceAll('~', '~0').replaceAll('/', '~1')}`;
