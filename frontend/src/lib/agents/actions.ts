import type { MenuItem } from '../ui/MenuList.svelte';
import { clockTime } from '../text/format';
import { oneLine } from '../text/visible';
import { rowState, type Agent } from './row';

export type RowAction = 'open' | 'go' | 'seen' | 'copyId' | 'snooze' | 'mute' | 'muteProject' | 'unmute';

/** What can be done with a row; what cannot says why instead of vanishing. */
export function rowActions(a: Agent): (MenuItem & { id: RowAction })[] {
  const s = a.session;
  const own = !!(a.chat?.id ?? s.chatId);
  const place = s.place.label || 'its terminal';
  const there = !!s.place.terminalId || s.place.canFocus;
  const unseen = !!s.unread || s.state === 'failed';
  return [
    { id: 'open', label: own ? 'Open the chat' : 'Open as chat, read-only', icon: own ? 'chat' : 'eye' },
    { id: 'go', label: `Go to ${place}`, icon: 'out', disabled: there ? undefined : whyNoPlace(a) },
    { id: 'seen', label: 'Mark as seen', icon: 'check', disabled: unseen ? undefined : rowState(a).needsYou ? 'waits for an answer' : 'nothing is new' },
    ...muting(a),
    { id: 'copyId', label: 'Copy the session id', icon: 'copy', line: true },
  ];
}

function muting(a: Agent): (MenuItem & { id: RowAction })[] {
  if (a.muted !== undefined) return [{ id: 'unmute', label: a.muted ? `Wake it up now, before ${clockTime(a.muted)}` : 'Unmute', icon: 'moon', line: true }];
  const project = a.session.project.root ? oneLine(a.session.project.name) : '';
  return [
    { id: 'snooze', label: 'Snooze for an hour', icon: 'clock', line: true },
    { id: 'mute', label: 'Mute', icon: 'moon' },
    ...(project ? [{ id: 'muteProject' as const, label: `Mute ${project}`, icon: 'moon' }] : []),
  ];
}

/** Why a row's place cannot be brought to the front. */
export function whyNoPlace(a: Agent): string {
  const p = a.session.place;
  if (p.whyNot) return p.whyNot;
  if (a.chat?.hand.state === 'app') return 'it runs here, in its chat';
  if (p.kind === 'none' || !p.kind) return a.session.pid ? 'no terminal was found for it' : 'it does not run now';
  return 'this terminal offers no way';
}
