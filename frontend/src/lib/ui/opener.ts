import { getContext, setContext } from 'svelte';

/** Opens a file of the chat's folder in the person's editor; line is 1-based, 0 is unknown. */
export type Opener = (path: string, line: number) => void;

const KEY = Symbol('opener');

/** What is below the calling component may open files by it. */
export const provideOpener = (open: Opener): void => void setContext(KEY, open);

/** Undefined where files cannot be opened (the gallery, a preview). */
export const opener = (): Opener | undefined => getContext<Opener | undefined>(KEY);
