// @vitest-environment jsdom
import { flushSync } from 'svelte';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createClock, untilNextAge } from './clock.svelte';
import { watch } from '../fake/watch.svelte';

let hidden = false;
beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000_000 });
  hidden = false;
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
});
afterEach(() => vi.useRealTimers());
const show = (on: boolean) => ((hidden = !on), document.dispatchEvent(new Event('visibilitychange')), flushSync());

it('has no timer while nothing is shown, nor while hidden', async () => {
  const c = createClock();
  expect(vi.getTimerCount()).toBe(0);
  const seen: number[] = [];
  const stop = watch(() => seen.push(c.now));
  expect(vi.getTimerCount()).toBe(1);
  show(false);
  expect(vi.getTimerCount()).toBe(0);
  await vi.advanceTimersByTimeAsync(300_000);
  show(true);
  // Back in sight it is right at once.
  expect(seen.at(-1)).toBe(1_000_300_000);
  await vi.advanceTimersByTimeAsync(30_000);
  flushSync();
  expect(seen.at(-1)).toBe(1_000_330_000);
  stop();
  await vi.advanceTimersByTimeAsync(0);
  expect(vi.getTimerCount()).toBe(0);
});

it('wakes for ages only when one reads differently', async () => {
  const c = createClock();
  const seen: number[] = [];
  const stop = watch(() => seen.push(c.ages([Date.now() - 2 * 3600_000 - 1, Date.now() - 50 * 3600_000])));
  expect(seen).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(59 * 60_000);
  flushSync();
  expect(seen).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(60_000);
  flushSync();
  expect(seen).toHaveLength(2);
  stop();
  await vi.advanceTimersByTimeAsync(0);
  expect(vi.getTimerCount()).toBe(0);
});

it('counts seconds only while asked', async () => {
  const c = createClock();
  const end = c.seconds();
  expect(vi.getTimerCount()).toBe(1);
  end();
  end();
  expect(vi.getTimerCount()).toBe(0);
});

it('knows when an age changes', () => {
  const now = 1e12;
  expect(untilNextAge(0, now)).toBe(Infinity);
  expect(untilNextAge(now - 5_000, now)).toBe(25_000);
  expect(untilNextAge(now - 90_000, now)).toBe(30_000);
  expect(untilNextAge(now - 3_600_000, now)).toBe(3_600_000);
  expect(untilNextAge(now + 5_000, now)).toBe(30_000);
});
