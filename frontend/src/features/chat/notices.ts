import type { Level } from '../../lib/api/types.gen';

/** A wait is not a warning: it goes on by itself. */
const WAITS = /\b(rate limit|rate limited|trying again|retry|retrying|waits? until)/i;

export function noticeIcon(reason: string, text: string, level: Level | undefined): string {
  if (reason === 'rate_limit' || reason === 'retry' || WAITS.test(text)) return 'clock';
  return level === 'warning' ? 'warn' : 'info';
}
