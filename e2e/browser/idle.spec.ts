import { expect, test } from './host';

/** An idle window draws nothing and wakes nobody: no frame loop, no interval, no chain of timers. */
test('a window where nothing happens has no timer and asks for no frame', async ({ page, host }) => {
  let messages = 0;
  page.on('websocket', (ws) => ws.on('framereceived', () => messages++));
  await page.addInitScript(() => {
    const w = window as unknown as { count: { frames: number; timers: number; live: Set<number> } };
    w.count = { frames: 0, timers: 0, live: new Set() };
    const { requestAnimationFrame: raf, setTimeout: later, setInterval: every, clearInterval: stop } = window;
    window.requestAnimationFrame = (f) => (w.count.frames++, raf.call(window, f));
    window.setTimeout = ((f: () => void, ms?: number, ...a: unknown[]) => (w.count.timers++, later(f, ms, ...a))) as never;
    window.setInterval = ((f: () => void, ms?: number, ...a: unknown[]) => {
      const id = every(f, ms, ...a) as unknown as number;
      w.count.live.add(id);
      return id;
    }) as never;
    window.clearInterval = ((id: number) => (w.count.live.delete(id), stop(id))) as never;
  });
  await page.goto(host.url);
  await page.getByRole('button', { name: /^Show (the window|my)/ }).click();
  await page.keyboard.press('Control+Shift+N');
  const dialog = page.getByRole('dialog', { name: 'New chat' });
  await dialog.getByRole('radio', { name: /Rehearsal/ }).click();
  await dialog.getByLabel('Folder').fill(host.project);
  await dialog.getByLabel(/First message/).fill('hello');
  await dialog.getByRole('button', { name: 'Start chat' }).click();
  const trust = page.getByRole('alertdialog', { name: /^Trust/ });
  await expect(dialog).toBeHidden();
  if (await trust.isVisible()) await trust.getByRole('button', { name: 'Trust and start' }).click();
  await expect(page.locator('[data-row="text"]').first()).toBeVisible();
  await expect(page.locator('[data-chat]')).toHaveAttribute('data-turn', 'idle', { timeout: 30_000 });
  // Away from the list of ages only the open chat is in sight.
  await page.keyboard.press('Control+Shift+B');
  await page.mouse.move(600, 300);
  const count = () => page.evaluate(() => {
    const { frames, timers, live } = (window as unknown as { count: { frames: number; timers: number; live: Set<number> } }).count;
    return { frames, timers, live: live.size };
  });
  // What the last act started (a saved layout, a fading tip) runs out first. What the host tells meanwhile (an
  // agent that starts elsewhere on this machine) is shown, and is no idleness: only a quiet stretch counts.
  await expect
    .poll(
      async () => {
        const [told, before] = [messages, await count()];
        await page.waitForTimeout(3000);
        const after = await count();
        if (messages !== told) return 'the host had something to tell';
        return { frames: after.frames - before.frames, timers: after.timers - before.timers, intervals: after.live };
      },
      { timeout: 90_000, intervals: [0] },
    )
    .toEqual({ frames: 0, timers: 0, intervals: 0 });
});
