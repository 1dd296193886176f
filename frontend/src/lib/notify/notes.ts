import { rowState, type Agent } from '../agents/row';
import type { Preferences } from '../stores/settings';
import { oneLine } from '../text/visible';

/** A notification of the system: who wants what, and what a click opens. */
export interface Note {
  id: string;
  title: string;
  body: string;
  open: string;
}

type Kind = 'waiting' | 'failed' | 'finished' | '';
type Wanted = Pick<Preferences, 'notify' | 'notifyWaiting' | 'notifyFinished' | 'notifyFailed' | 'notifyText'>;

function kindOf(a: Agent): Kind {
  const r = rowState(a);
  if (a.session.state === 'failed') return 'failed';
  if (r.needsYou) return 'waiting';
  return r.bold ? 'finished' : '';
}

/** Says what became worth telling since the last look; the first look only learns. */
export class Notes {
  private known: Map<string, Kind> | undefined;

  /** away: the window is not in front; what happens before a person's eyes is not told again. */
  look(agents: readonly Agent[], name: (harness: string) => string, prefs: Wanted, away: boolean): Note[] {
    const before = this.known;
    this.known = new Map(agents.map((a) => [a.id, kindOf(a)]));
    if (!before || !away || !prefs.notify) return [];
    const wanted = { waiting: prefs.notifyWaiting, failed: prefs.notifyFailed, finished: prefs.notifyFinished, '': false };
    const out: Note[] = [];
    for (const a of agents) {
      const kind = this.known.get(a.id)!;
      if (kind === before.get(a.id) || !wanted[kind]) continue;
      const s = a.session;
      const r = rowState(a);
      const chat = a.chat?.id ?? s.chatId;
      const who = name(s.key.harness);
      const title = kind === 'waiting' ? `${who} waits for you` : kind === 'failed' ? `${who} failed` : `${who} is done`;
      const where = s.project.name || 'No folder';
      // Words of a conversation may stand on a locked screen: only when the person wants that.
      const body = prefs.notifyText ? [oneLine(s.title), [r.word, r.detail].filter(Boolean).join(': ')].filter(Boolean).join('\n') : where;
      out.push({ id: a.id, title, body, open: chat ? `chat:${chat}` : `session:${a.id}` });
    }
    return out;
  }
}
