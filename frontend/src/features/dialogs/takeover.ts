import type { ChatSummary, Session } from '../../lib/api/types.gen';
import { oneLine } from '../../lib/text/visible';

/** What is known of the program that holds a session, said no stronger than it is. */
export interface Known {
  /** Its work there. */
  what: string;
  /** What taking over does, in order. */
  steps: string[];
  /** A turn there ends by it. */
  working: boolean;
  /** Nothing may be ended on this ground: why, and what to do. */
  refuses: string;
}

export function takeOver(agent: string, place: string, chat: ChatSummary | undefined, session: Session | undefined): Known {
  const o = chat?.hand.ownership;
  const who = o?.pid ? `${agent} (pid ${o.pid})` : agent;
  const state = session?.stale ? 'stale' : (session?.state ?? chat?.state);
  const tool = oneLine(session?.tool ?? '');
  const working = state === 'running' || state === 'waiting' || state === 'starting' || state === 'stale';
  const what =
    state === 'waiting' || state === 'blocked' ? `${who} waits for an answer there`
    : state === 'running' || state === 'starting' ? `${who} is working there${tool ? `: ${tool}` : ''}`
    : state === 'stale' ? `${who} was working there and has been silent since; whether it still does is not known`
    : state ? `${who} is open there and idle`
    : `${who} holds the session; whether it is at work is not known`;
  const steps = [working ? 'stop its turn and ask it to exit' : 'ask it to exit', o?.pid ? 'wait until the process is gone' : 'look whether anything still holds the session', 'continue here at its last message'];
  const refuses =
    o?.link && o.link !== 'proved' ? `The owner is only ${o.link}: ${o.evidence}. Nothing is ended on that ground; close it in ${place}.`
    : o?.owner === 'unclear' ? `Who holds it is not clear: ${o.evidence}. Nothing is ended on that ground.`
    : '';
  return { what, steps, working, refuses };
}
