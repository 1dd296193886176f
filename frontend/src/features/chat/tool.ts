import type { Row } from '../../lib/api/types.gen';
import { bytes, count, duration } from '../../lib/text/format';

/** How a tool row is shown: one line, or a head with a body. */
export interface ToolView {
  icon: string;
  verb: string;
  subject: string;
  /** The subject is a path: cut in the middle. */
  path: boolean;
  right: string;
  /** How it went wrong, before right: "exit 1". */
  code: string;
  bad: boolean;
  /** Where an editor opens the file; 0 is unknown. */
  line: number;
  added?: number;
  removed?: number;
  body: 'none' | 'diff' | 'output' | 'write' | 'data' | 'question' | 'text';
}

const DONE: Record<string, string> = { read: 'Read', edit: 'Edited', write: 'Wrote', execute: 'Ran', search: 'Searched', fetch: 'Fetched', task: 'Agent', question: 'Asked' };
const NOW: Record<string, string> = { read: 'Reading', edit: 'Editing', write: 'Writing', execute: 'Running', search: 'Searching', fetch: 'Fetching', task: 'Agent', question: 'Asking' };
const ICON: Record<string, string> = { read: 'file', edit: 'edit', write: 'edit', execute: 'term', search: 'search', fetch: 'globe', mcp: 'puzzle', task: 'fork', question: 'chat', think: 'think' };

function range(from?: number, to?: number): string {
  if (!from && !to) return '';
  return to ? `${from ?? 1}–${to}` : `from ${from}`;
}

export function toolView(r: Row): ToolView {
  const d = r.detail ?? {};
  const running = r.state === 'running';
  const kind = r.kind ?? 'other';
  const v: ToolView = {
    icon: ICON[kind] ?? 'puzzle',
    verb: (running ? NOW : DONE)[kind] ?? '',
    subject: r.title ?? r.name ?? '',
    path: false,
    right: '',
    code: '',
    bad: r.state === 'failed',
    line: r.locations?.[0]?.line ?? 0,
    body: r.output ? 'output' : 'none',
  };
  if (d.execute) {
    const e = d.execute;
    v.subject = e.command;
    const code = e.exitCode;
    v.bad = v.bad || (code ?? 0) !== 0;
    const ms = e.durationMs || (r.startedAt && r.endedAt ? r.endedAt - r.startedAt : 0);
    if (code) v.code = `exit ${code}`;
    v.right = [code === undefined ? (e.background ? 'in the background' : '') : code ? '' : 'exit 0', ms ? duration(ms) : ''].filter(Boolean).join(', ');
  } else if (d.edit) {
    v.subject = d.edit.path;
    v.path = true;
    if (d.edit.added || d.edit.removed) {
      v.added = d.edit.added;
      v.removed = d.edit.removed;
    }
    v.line ||= firstChanged(d.edit);
    v.body = d.edit.diff || d.edit.old !== undefined || d.edit.new !== undefined ? 'diff' : v.body;
  } else if (d.write) {
    v.verb = running ? 'Writing' : d.write.created ? 'Created' : 'Wrote';
    v.subject = d.write.path;
    v.path = true;
    v.added = d.write.content ? d.write.content.split('\n').length : undefined;
    v.body = d.write.content ? 'write' : v.body;
  } else if (d.read) {
    v.subject = d.read.path;
    v.path = true;
    v.right = range(d.read.from, d.read.to);
    v.line ||= d.read.from ?? 0;
    v.body = 'none';
  } else if (d.search) {
    v.subject = d.search.query;
    v.right = d.search.matches !== undefined ? count(d.search.matches, 'match', 'matches') : d.search.files !== undefined ? count(d.search.files, 'file') : '';
    v.body = 'none';
  } else if (d.fetch) {
    v.subject = d.fetch.url;
    v.right = [d.fetch.status ? String(d.fetch.status) : '', d.fetch.bytes ? bytes(d.fetch.bytes) : ''].filter(Boolean).join(', ');
    v.body = 'none';
  } else if (d.mcp) {
    v.verb = d.mcp.server || r.server || 'MCP';
    v.subject = d.mcp.tool;
    v.body = d.mcp.input !== undefined || r.output ? 'data' : 'none';
  } else if (d.task) {
    v.verb = d.task.agent || 'Agent';
    v.subject = r.title ?? '';
    v.body = d.task.prompt || r.output ? 'text' : 'none';
  } else if (d.question) {
    v.subject = d.question.questions?.[0]?.text ?? '';
    v.body = d.question.answers ? 'question' : 'none';
  } else if (d.unknown) {
    v.verb = r.name ?? 'Tool';
    v.subject = r.title === r.name ? '' : (r.title ?? '');
    v.body = 'data';
  }
  if (r.state === 'declined') v.right = v.code = '';
  else if (r.state === 'canceled') v.right = v.right || 'stopped';
  else if (r.state === 'failed' && !v.code) v.code = 'failed';
  if (r.state === 'declined') v.verb = 'Not allowed';
  if (r.state === 'canceled') v.verb = 'Stopped';
  return v;
}

/** The first line of the new file that an edit touches. */
function firstChanged(e: { diff?: string; startLine?: number }): number {
  const m = /^@@ -\d+(?:,\d+)? \+(\d+)/m.exec(e.diff ?? '');
  return m ? Number(m[1]) : (e.startLine ?? 0);
}

/** Terminal escapes in recorded output are left out: it is text here, not a terminal. */
export function plainOutput(text: string): string {
  return text
    .replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[PX^_][^\u001b]*\u001b\\|[ -/]*[0-~])/g, '')
    .replace(/[^\n]*\r(?!\n)/g, '')
    .replace(/\r\n/g, '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '');
}

/** The last lines of an output and how many there are. */
export function tail(text: string, lines: number): { text: string; total: number } {
  const all = text.replace(/\n+$/, '').split('\n');
  return { text: all.slice(-lines).join('\n'), total: text ? all.length : 0 };
}

const BAD = /\b(FAIL(?:ED)?:?|ERROR:?|Error:|error:|panic:|fatal:)/;

/** A line of output in parts: the word that says that something went wrong stands out. */
export function marked(line: string): { text: string; bad: boolean }[] {
  const m = BAD.exec(line);
  if (!m) return [{ text: line, bad: false }];
  return [
    { text: line.slice(0, m.index), bad: false },
    { text: m[0], bad: true },
    { text: line.slice(m.index + m[0].length), bad: false },
  ].filter((t) => t.text);
}
