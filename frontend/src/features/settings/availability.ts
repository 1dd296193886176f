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

export function availability(h: Harness): AvailabilityView {
  const a = h.availability;
  const view = { glyph: 'ok' as GlyphName, word: 'Ready', text: '', fix: '', missing: false };
  if (!h.enabled) return { ...view, glyph: 'idle', word: 'Off' };
  if (h.sourceState === 'failed') return { ...view, glyph: 'fail', word: 'Failed', text: h.sourceError ?? '' };
  if (!a) return { ...view, glyph: 'start', word: 'Looking' };
  if (a.available) return view;
  // The contract: Detail is the command that fixes the reason.
  const fix = a.detail ?? '';
  switch (a.reason) {
    case 'not_signed_in':
      return { ...view, fix, text: 'Chats cannot start until you are signed in', glyph: 'blocked', word: 'Not signed in' };
    case 'too_old':
      return { ...view, glyph: 'blocked', word: 'Too old', text: a.neededVersion ? `${a.version || 'This version'} has no structured mode, chats need ${a.neededVersion}` : `${a.version || 'This version'} is too old for chats`, fix };
    case 'unsupported_platform':
      return { ...view, fix, glyph: 'idle', word: 'Not for this system' };
    case 'switched_off':
      return { ...view, glyph: 'idle', word: 'Off' };
    default:
      return { ...view, fix, text: fix ? 'To install it' : '', glyph: 'idle', word: 'Not installed', missing: true };
  }
}
