import { flushSync } from 'svelte';

/** Runs something as an effect, as a component that is shown would. */
export function watch(run: () => unknown): () => void {
  const stop = $effect.root(() => {
    $effect(() => void run());
  });
  flushSync();
  return stop;
}
