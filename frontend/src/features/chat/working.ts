import type { TurnState } from '../../lib/api/types.gen';
import { count } from '../../lib/text/format';

/** What is said below a timeline while a turn runs. */
export interface Working {
  glyph: 'work' | 'start' | 'stop' | 'stale';
  word: string;
  /** Since when its age counts; 0: no age. */
  since: number;
  /** The agent gave no sign for so long that the way out is offered. */
  silent: boolean;
}

export function working(turn: TurnState, turnSince: number, silentSince: number, now: number): Working | null {
  switch (turn) {
    case 'idle':
      return null;
    case 'opening':
      return { glyph: 'start', word: 'Starting', since: turnSince, silent: false };
    case 'stopping':
      return { glyph: 'stop', word: 'Stopping, waits for the agent', since: turnSince, silent: false };
    case 'running':
      if (!silentSince) return { glyph: 'work', word: 'Working', since: turnSince, silent: false };
      return { glyph: 'stale', word: `No activity for ${silence(now - silentSince)}`, since: 0, silent: true };
  }
}

/** Whole units only: the host says when it begins, the window's slow clock counts on. */
function silence(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  return count(Math.floor(s / 3600), 'hour');
}
