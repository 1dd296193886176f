import { expect, test } from '@playwright/test';
import { calls, open, violations } from './open';
import { serve, type Served } from './serve';

/** Search, history, archive, export and removal against a host in memory: pictures in both themes, axe, and what the keyboard does. */

let served: Served;
test.beforeAll(async () => {
  served = await serve('dist-gallery');
});
test.afterAll(() => served.close());

const SCENES: { name: string; ready: string; then?: string }[] = [
  { name: 'search', ready: '[data-hit]' },
  { name: 'searchnone', ready: 'text=Nothing found' },
  { name: 'history', ready: '[data-stored]' },
  { name: 'removechat', ready: '[data-stays] code' },
  { name: 'exportchat', ready: 'dialog [role="radio"]' },
];

for (const theme of ['light', 'dark'])
  for (const s of SCENES)
    test(`${s.name}, ${theme}`, async ({ page }) => {
      const errors: string[] = [];
      page.on('pageerror', (e) => errors.push(String(e)));
      page.on('console', (m) => m.type() === 'error' && errors.push(m.text()));
      await open(page, served.url, s.name, s.ready, { theme });
      if (s.name === 'history') {
        await page.locator('[data-stored]').nth(1).click();
        await page.locator('[data-preview="ready"]').waitFor();
      }
      await page.evaluate(() => Promise.all(document.getAnimations().map((a) => a.finished)));
      await page.screenshot({ path: `test-results/keeping/${s.name}-${theme}.png` });
      expect(await violations(page)).toEqual([]);
      expect(errors).toEqual([]);
    });

test('the archive says how long chats are kept and what was removed, in both themes', async ({ page }) => {
  for (const theme of ['light', 'dark']) {
    await open(page, served.url, 'archive', '[data-view="history"]', { theme });
    await page.getByRole('tab', { name: 'Archive' }).click();
    await page.getByRole('button', { name: /removed after the days/ }).click();
    await expect(page.getByText('An old experiment')).toBeVisible();
    await page.screenshot({ path: `test-results/keeping/archive-${theme}.png` });
    expect(await violations(page)).toEqual([]);
  }
  await page.getByRole('button', { name: 'Bring back' }).first().click();
  expect((await calls(page, 'chats.set')).at(-1)).toMatchObject({ name: 'archived', value: false });
  await page.getByLabel('Remove archived chats').selectOption({ label: 'after 30 days' });
  expect((await calls(page, 'settings.set')).at(-1)).toEqual({ path: 'chats.keepArchivedDays', value: 30 });
});

test('the search is used by keyboard alone', async ({ page }) => {
  await open(page, served.url, 'window', '[data-chat]');
  await page.keyboard.press('Control+Shift+S');
  const box = page.getByRole('combobox', { name: 'Search in everything' });
  await expect(box).toBeFocused();
  await box.fill('newGate');
  await expect(page.locator('[data-hit]').first()).toBeVisible();
  await expect(page.locator('mark').first()).toHaveText(/newGate/i);
  // The first choice is the chat whose title has it; then the hits, newest first.
  await page.keyboard.press('ArrowDown');
  await expect(page.locator('[data-hit="h1"]')).toHaveAttribute('aria-selected', 'true');
  const active = await box.getAttribute('aria-activedescendant');
  expect(await page.locator('[data-hit="h1"]').getAttribute('id')).toBe(active);
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(page.locator('[data-view="search"]')).toBeHidden();
  await expect(page.locator('[data-chat]').first()).toBeVisible();
  // One question for what was typed, not one a key.
  expect((await calls(page, 'search.find')).length).toBeLessThanOrEqual(2);
  await page.keyboard.press('Control+Shift+S');
  await page.keyboard.press('Escape');
  await expect(page.locator('[data-view="search"]')).toBeHidden();
});

test('other sessions are only read after a person said so', async ({ page }) => {
  await open(page, served.url, 'searchoff', '[data-hit]');
  await page.getByRole('radio', { name: 'Other sessions' }).click();
  await page.getByRole('button', { name: 'Read them' }).click();
  expect((await calls(page, 'settings.set')).at(-1)).toEqual({ path: 'search.sessions', value: true });
});

test('the history is paged, keeps the page small, and previews before anything is opened', async ({ page }) => {
  await open(page, served.url, 'history', '[data-stored]');
  await page.getByRole('listbox', { name: 'Stored sessions' }).focus();
  await page.keyboard.press('ArrowDown');
  await expect(page.locator('[data-preview="ready"]')).toContainText('184 rows between');
  expect(await calls(page, 'chats.create')).toEqual([]);
  for (let i = 0; i < 12; i++) {
    await page.keyboard.press('End');
    await page.waitForTimeout(60);
  }
  await expect(page.locator('[data-stored="claude-code/s299"]')).toBeVisible();
  expect(await page.locator('[data-stored]').count()).toBeLessThan(80);
  const asked = await calls(page, 'sessions.stored');
  expect(asked.length).toBe(5);
  await page.getByLabel('Project').selectOption({ index: 2 });
  await expect(page.locator('[data-stored="claude-code/s3"]')).toBeVisible();
  await expect(page.locator('[data-stored="claude-code/s0"]')).toHaveCount(0);
});

test('removing is asked with the safe button first, and archiving can be undone', async ({ page }) => {
  await open(page, served.url, 'removechat', '[data-stays] code');
  await expect(page.getByRole('button', { name: 'Keep it' })).toBeFocused();
  await expect(page.locator('[data-stays]')).toContainText('.jsonl');
  await page.getByRole('button', { name: 'Archive instead' }).click();
  await expect(page.getByRole('alertdialog')).toBeHidden();
  await page.getByRole('button', { name: 'Undo' }).click();
  expect((await calls(page, 'chats.set')).map((c) => c.value)).toEqual([true, false]);
  expect(await calls(page, 'chats.remove')).toEqual([]);
});

for (const width of [320, 800])
  for (const name of ['search', 'history'])
    test(`${name} at ${width} px loses nothing`, async ({ page }) => {
      await open(page, served.url, name, name === 'search' ? '[data-hit]' : '[data-stored]', { width, height: 700 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide).toBeLessThanOrEqual(width);
      for (const b of await page.locator('dialog button:visible, dialog select:visible, dialog input:visible').all()) {
        const box = (await b.boundingBox())!;
        expect(box.x).toBeGreaterThanOrEqual(-1);
        expect(box.x + box.width).toBeLessThanOrEqual(width + 1);
      }
      await page.screenshot({ path: `test-results/keeping/${name}-${width}.png` });
    });
