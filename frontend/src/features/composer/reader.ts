import { getContext, setContext } from 'svelte';
import type { Attachment } from '../../lib/api/types.gen';

/** How the rows of a chat get at what was attached; without one only names are shown. */
export type Reader = (a: Attachment) => Promise<Blob>;

const key = Symbol('attachments');

export const provideReader = (read: Reader): Reader => setContext(key, read);
export const reader = (): Reader | undefined => getContext<Reader | undefined>(key);
