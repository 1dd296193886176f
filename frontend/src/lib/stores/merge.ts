import type { Chat, ChatSummary } from '../api/types.gen';

/**
 * The host leaves empty fields out. What a summary does not name is therefore
 * empty now, not unchanged: its part of a chat is replaced as a whole.
 */
const SUMMARY: Record<keyof ChatSummary, true> = {
  id: true, title: true, harness: true, provider: true, kind: true, cwd: true, project: true, handle: true, aliases: true,
  turn: true, state: true, turnSince: true, hand: true, model: true, mode: true, thinking: true, waiting: true, queued: true,
  unread: true, lastEnd: true, createdAt: true, updatedAt: true, archived: true,
};

/** What a chat event carries beside the summary, or all of it not. */
export type ChatDetail = Pick<Chat, 'agent' | 'abilities'> & { autoMode: Chat['autoMode'] | null; silentSince: number; stopping: Chat['stopping'] | null };

export function mergeSummary(chat: Chat, told: ChatSummary & Partial<ChatDetail>): Chat {
  const rest = Object.fromEntries(Object.entries(chat).filter(([k]) => !(k in SUMMARY))) as Omit<Chat, keyof ChatSummary>;
  const summary = Object.fromEntries(Object.entries(told).filter(([k]) => k in SUMMARY)) as unknown as ChatSummary;
  const detail =
    told.agent === undefined
      ? {}
      : { agent: told.agent, abilities: told.abilities ?? null, autoMode: told.autoMode ?? undefined, silentSince: told.silentSince || undefined, stopping: told.stopping ?? undefined };
  return { ...rest, ...summary, ...detail };
}
