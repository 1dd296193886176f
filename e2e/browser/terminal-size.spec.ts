import { expect, test } from './host';
import type { Page } from './playwright';

const rows = (page: Page) => page.locator('[data-terminal] .xterm-rows > div');

test('two windows share a terminal: the other one follows the size, a replay is drawn as it was', async ({ page, host }) => {
  await page.goto(host.url);
  await page.getByRole('button', { name: /^Show (the window|my)/ }).click();
  await page.keyboard.press('Control+Shift+T');
  const screen = page.locator('[data-terminal] .xterm-rows');
  await expect(screen).toContainText(/[$#]/);
  await page.keyboard.type('seq -s, 1 60; stty size');
  await page.keyboard.press('Enter');
  await expect(screen).toContainText('58,59,60');
  const tall = await rows(page).count();
  await expect(screen).toContainText(`${tall} `);

  // The second window is smaller and shows the same tab: the terminal is its size now, here too.
  const other = await page.context().newPage();
  await other.setViewportSize({ width: 1000, height: 500 });
  await other.goto(host.url);
  await expect(other.locator('[data-terminal] .xterm-rows')).toContainText('58,59,60');
  await expect.poll(() => rows(other).count()).toBeLessThan(tall);
  const short = await rows(other).count();
  await expect.poll(() => rows(page).count()).toBe(short);

  // The larger one is alone again, takes its size back, and nothing of the text is lost.
  await other.close();
  await page.bringToFront();
  await expect.poll(() => rows(page).count(), { timeout: 30_000 }).toBe(tall);
  await expect(screen).toContainText('58,59,60');
  await page.keyboard.type('stty size');
  await page.keyboard.press('Enter');
  await expect(screen.locator('div', { hasText: new RegExp(`^${tall} \\d+`) }).last()).toBeVisible();
});
