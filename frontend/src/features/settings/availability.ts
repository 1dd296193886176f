import type { GlyphName } from '../../lib/agents/row';
import type { Harness } from '../../lib/api/types.gen';

/** A harness's state in one word, and what helps. */
export interface AvailabilityView {
  glyph: GlyphName;
  word: string;
  text: string;
  /** The command that helps, taken from what the harness says. */
  fix: string;
  missing: boolean;
}

/** A harness writes the fix as the last code span of its detail: "Sign-in expired: run `x login`". */
function split(detail: string): { text: string; fix: string } {
  const m = /^(.*?)[\s:]*(?:run|with|by|then)?[\s:]*`([^`]+)`\.?$/is.exec(detail.trim());
  return m ? { text: m[1]!.trim(), fix: m[2]! } : { text: detail.trim(), fix: '' };
}

export function availability(h: Harness): AvailabilityView {
  const a = h.availability;
  const view = { glyph: 'ok' as GlyphName, word: 'Ready', text: '', fix: '', missing: false };
  if (!h.enabled) return { ...view, glyph: 'idle', word: 'Off' };
  if (h.sourceState === 'failed') return { ...view, glyph: 'fail', word: 'Failed', text: h.sourceError ?? '' };
  if (!a) return { ...view, glyph: 'start', word: 'Looking' };
  if (a.available) return view;
  const detail = split(a.detail ?? '');
  switch (a.reason) {
    case 'not_signed_in':
      return { ...view, ...detail, glyph: 'blocked', word: 'Not signed in' };
    case 'too_old':
      return { ...view, glyph: 'blocked', word: 'Too old', text: detail.text || `${a.version} is too old, chats need ${a.neededVersion}`, fix: detail.fix };
    case 'unsupported_platform':
      return { ...view, ...detail, glyph: 'idle', word: 'Not for this system' };
    case 'switched_off':
      return { ...view, glyph: 'idle', word: 'Off' };
    default:
      return { ...view, ...detail, glyph: 'idle', word: 'Not installed', missing: true };
  }
}
