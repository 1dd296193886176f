import type { MenuItem } from '../ui/MenuList.svelte';
import { rowState, type Agent } from './row';

export type RowAction = 'open' | 'go' | 'seen' | 'copyId';

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
    { id: 'copyId', label: 'Copy the session id', icon: 'copy', line: true },
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
