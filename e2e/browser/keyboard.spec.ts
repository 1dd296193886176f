import { expect, test } from './host';
import type { Locator, Page } from './playwright';

/** The whole main job without a mouse. */

const focused = (l: Locator) => l.evaluate((el) => el === document.activeElement || el.contains(document.activeElement));

/** Tab (or Shift+Tab) until it has the focus; a trap would never get there. */
async function tabTo(page: Page, target: Locator, key = 'Tab') {
  await expect(target.first()).toBeVisible();
  for (let i = 0; i < 60; i++) {
    if (await target.first().evaluate((el) => el === document.activeElement)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`60 presses of ${key} do not reach ${target}`);
}

async function press(page: Page, target: Locator, key = 'Enter') {
  await tabTo(page, target);
  await page.keyboard.press(key);
}

const chat = (page: Page) => page.locator('[data-chat]');
const idle = (page: Page) => expect(chat(page)).toHaveAttribute('data-turn', 'idle', { timeout: 30_000 });
const composer = (page: Page) => page.getByRole('textbox', { name: 'Message' });

test('the main job by keyboard: chat, approve, stop, terminal, back, settings', async ({ page, host }) => {
  await page.goto(host.url);
  await press(page, page.getByRole('button', { name: /^Show (the window|my)/ }));

  // A new chat: the focus is in its first message, the folder a few steps back.
  await page.keyboard.press('Control+Shift+N');
  const dialog = page.getByRole('dialog', { name: 'New chat' });
  await expect(dialog.getByLabel(/First message/)).toBeFocused();
  await tabTo(page, dialog.getByRole('radio', { checked: true }).first(), 'Shift+Tab');
  for (let i = 0; i < 20 && !(await dialog.getByRole('radio', { name: /Rehearsal/ }).isChecked()); i++) await page.keyboard.press('ArrowRight');
  await tabTo(page, dialog.getByLabel('Folder'));
  await page.keyboard.press('Control+A');
  await page.keyboard.type(host.project);
  await tabTo(page, dialog.getByLabel(/First message/));
  await page.keyboard.type('run echo');
  await page.keyboard.press('Control+Enter');
  const trust = page.getByRole('alertdialog', { name: /^Trust/ });
  await expect(dialog).toBeHidden();
  if (await trust.isVisible()) {
    await expect(trust.getByRole('button', { name: 'Cancel' })).toBeFocused();
    await press(page, trust.getByRole('button', { name: 'Trust and start' }));
  }
  await expect(composer(page)).toBeFocused();

  // An approval takes no focus; the answer key gives it, Escape gives it back.
  const card = page.locator('[data-approval]');
  await expect(card).toBeVisible();
  await expect(composer(page)).toBeFocused();
  await page.keyboard.press('Control+Shift+A');
  await expect(card).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(composer(page)).toBeFocused();
  await page.keyboard.press('Control+Shift+A');
  await expect(card).toHaveAttribute('data-armed', 'true');
  await page.keyboard.press('1');
  await expect(card).toBeHidden();
  await idle(page);
  await expect(composer(page)).toBeFocused();

  // Send, and stop.
  await page.keyboard.type('wait for me');
  await page.keyboard.press('Enter');
  await expect(page.getByText('I stand still in the middle of this answer')).toBeVisible();
  await expect(page.locator('[data-working="running"]')).toContainText('Working');
  await page.keyboard.press('Control+Shift+.');
  await idle(page);

  // Continue in a terminal, type there, leave it by F6.
  await page.keyboard.press('Control+Shift+O');
  const ask = page.getByRole('alertdialog', { name: 'Continue this chat in a terminal?' });
  await expect(ask.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(composer(page)).toBeFocused();
  await page.keyboard.press('Control+Shift+O');
  await press(page, ask.getByRole('button', { name: 'Continue in terminal' }));
  const terminal = page.locator('[data-terminal]');
  await expect(terminal.locator('.xterm-rows')).toContainText('run echo', { timeout: 30_000 });
  await expect.poll(() => focused(terminal)).toBe(true);
  await page.keyboard.type('typed by keys');
  await page.keyboard.press('Enter');
  await expect(page.locator('[data-row="user"]').last()).toContainText('typed by keys', { timeout: 20_000 });
  // Tab belongs to the program; F6 goes round the regions and comes back.
  const seen = new Set<string>();
  for (let i = 0; i < 8; i++) {
    await page.keyboard.press('F6');
    seen.add(await page.evaluate(() => document.activeElement?.getAttribute('role') ?? document.activeElement?.tagName ?? ''));
    if (await focused(terminal)) break;
  }
  expect([...seen].sort()).toEqual(['TEXTAREA', 'log', 'tab', 'tree']);
  expect(await focused(terminal)).toBe(true);

  // Take it back.
  await page.keyboard.press('F6');
  expect(await focused(terminal)).toBe(false);
  await press(page, page.getByRole('button', { name: 'Take over' }));
  const over = page.getByRole('alertdialog');
  await expect(over.getByRole('button', { name: 'Keep reading' })).toBeFocused();
  await press(page, over.getByRole('button', { name: /ake over/ }));
  await expect(page.locator('[data-hand="app"]')).toBeVisible({ timeout: 30_000 });
  await tabTo(page, composer(page));
  await page.keyboard.type('and back');
  await page.keyboard.press('Enter');
  await expect(page.locator('[data-row="user"]').last()).toContainText('and back');
  await idle(page);

  // A row: its menu by keys, what cannot be done says why.
  await page.keyboard.press('F6');
  for (let i = 0; i < 8 && !(await page.evaluate(() => document.activeElement?.getAttribute('role') === 'tree')); i++) await page.keyboard.press('F6');
  const tree = page.getByRole('tree', { name: 'Agents' });
  await page.keyboard.press('Home');
  for (let i = 0; i < 6 && !(await tree.locator('.focused').count()); i++) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Shift+F10');
  await expect(page.getByRole('menu')).toBeVisible();
  await expect(page.getByRole('menuitem').first()).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(tree).toBeFocused();

  // A setting.
  await page.keyboard.press('Control+Shift+,');
  await expect(page.getByRole('button', { name: 'General', exact: true })).toBeFocused();
  const keep = page.getByRole('switch', { name: 'Keep running in the background' });
  await press(page, keep, 'Space');
  await expect(keep).toBeChecked();
  await page.keyboard.press('Space');
  await expect(keep).not.toBeChecked();
  await page.keyboard.press('Escape');
  // Back to the pane that was worked in last.
  await expect.poll(() => focused(page.locator('[data-pane].focused'))).toBe(true);
});

test('what a screen reader is told', async ({ page, host }) => {
  await page.goto(host.url);
  await press(page, page.getByRole('button', { name: /^Show (the window|my)/ }));
  await page.keyboard.press('Control+Shift+N');
  const dialog = page.getByRole('dialog', { name: 'New chat' });
  await dialog.getByRole('radio', { name: /Rehearsal/ }).click();
  await dialog.getByLabel('Folder').fill(host.project);
  await dialog.getByLabel(/First message/).fill('run echo');
  await dialog.getByRole('button', { name: 'Start chat' }).click();
  const trust = page.getByRole('alertdialog', { name: /^Trust/ });
  await expect(dialog).toBeHidden();
  if (await trust.isVisible()) await trust.getByRole('button', { name: 'Trust and start' }).click();
  const card = page.getByRole('group', { name: /asks: / });
  await expect(card).toBeVisible();
  // One polite announcement for it.
  await expect(page.locator('.sr[role="status"]')).toHaveText(/^Rehearsal asks: /);
  await expect(page.getByRole('log', { name: 'Conversation' })).toHaveAttribute('aria-live', 'polite');
  await expect(page.getByRole('tablist', { name: 'Tabs' }).getByRole('tab', { selected: true })).toBeVisible();
  const tree = page.getByRole('tree', { name: 'Agents' });
  await expect(tree.getByRole('treeitem', { name: /^(Approve|Waiting)/ }).first()).toBeVisible();
  await expect(tree.getByRole('treeitem', { expanded: true }).first()).toHaveAttribute('aria-level', '1');
  await card.locator('.opt').first().click();
  await idle(page);
});
