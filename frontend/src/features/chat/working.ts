import type { TurnState } from '../../lib/api/types.gen';
import { count } from '../../lib/text/format';

/** How far a stop has got, as the host tells it. */
export interface StopProgress {
  /** asked, owed, ending, stuck or shared */
  step: string;
  at: number;
  endsAt?: number;
  error?: string;
  ends?: string[] | null;
}

/** What is said below a timeline while a turn runs. */
export interface Working {
  glyph: 'work' | 'start' | 'stop' | 'stale' | 'fail';
  word: string;
  /** Since when its age counts; 0: no age. */
  since: number;
  /** The agent gave no sign for so long that the way out is offered. */
  silent: boolean;
  /** Why it goes on. */
  detail?: string;
  /** What a person can do about it now. */
  act?: 'stop' | 'again' | 'restart';
}

export function working(turn: TurnState, turnSince: number, silentSince: number, now: number, stop?: StopProgress): Working | null {
  if (stop) return stopping(stop, now);
  switch (turn) {
    case 'idle':
      return null;
    case 'opening':
      return { glyph: 'start', word: 'Starting', since: turnSince, silent: false };
    case 'stopping':
      return { glyph: 'stop', word: 'Stopping, waits for the agent', since: turnSince, silent: false };
    case 'running':
      if (!silentSince) return { glyph: 'work', word: 'Working', since: turnSince, silent: false };
      return { glyph: 'stale', word: `No activity for ${silence(now - silentSince)}`, since: 0, silent: true, act: 'stop' };
  }
}

/** Every step of a stop says what it waits for and what comes next. */
function stopping(s: StopProgress, now: number): Working {
  const base = { since: s.at, silent: false, detail: s.error };
  const left = s.endsAt ? Math.max(0, s.endsAt - now) : 0;
  const then = left >= 1000 ? `Its processes are ended in ${Math.ceil(left / 1000)} s` : '';
  switch (s.step) {
    case 'owed':
      return { ...base, glyph: 'stop', word: 'The agent did not stop', detail: [s.error, then].filter(Boolean).join('. '), act: 'again' };
    case 'ending':
      return { ...base, glyph: 'stop', word: 'It did not stop in time, its processes are being ended' };
    case 'stuck':
      return { ...base, glyph: 'fail', word: 'Its processes could not be ended', act: 'again' };
    case 'shared':
      return { ...base, glyph: 'fail', word: 'It did not stop in time, and others use its server', act: 'restart' };
    default:
      return { ...base, glyph: 'stop', word: 'Stopping, waits for the agent', detail: s.error || then };
  }
}

/** Whole units only: the host says when it begins, the window's slow clock counts on. */
function silence(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  return count(Math.floor(s / 3600), 'hour');
}
