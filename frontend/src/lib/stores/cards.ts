import type { ApprovalCard } from '../api/types.gen';

/** A card of another key is a new card: a request that is asked anew is not the one before it. */
export const cardKey = (c: Pick<ApprovalCard, 'id' | 'revision'>): string => `${c.id}/${c.revision}`;

/** Cards that ended by themselves: lines of the timeline. The others are in the dock until their turn ends. */
export function isPast(card: ApprovalCard): boolean {
  if (card.state === 'open' || card.state === 'unconfirmed') return false;
  return card.state !== 'sent' || card.acknowledges !== true;
}
