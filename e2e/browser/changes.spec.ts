import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from './host';
import type { Page } from './playwright';

/** What a chat changed: from the end of a turn, by the keyboard, and what git sees of the folder. */

const idle = (page: Page) => expect(page.locator('[data-chat]')).toHaveAttribute('data-turn', 'idle', { timeout: 30_000 });

test('the changes of a turn and of a chat, beside what git sees', async ({ page, host }) => {
  const git = (...args: string[]) => execFileSync('git', ['-c', 'user.name=me', '-c', 'user.email=me@example.org', ...args], { cwd: host.project });
  git('init', '-q', '-b', 'main');
  writeFileSync(join(host.project, 'notes.md'), 'one\ntwo\nthree\n');
  git('add', '.');
  git('commit', '-qm', 'one');
  await page.goto(host.url);
  await page.getByRole('button', { name: /^Show (the window|my)/ }).click();
  await page.keyboard.press('Control+Shift+N');
  const dialog = page.getByRole('dialog', { name: 'New chat' });
  await dialog.getByRole('radio', { name: /Rehearsal/ }).click();
  await dialog.getByLabel('Folder').fill(host.project);
  await dialog.getByLabel(/First message/).fill('edit a file');
  await dialog.getByRole('button', { name: 'Start chat' }).click();
  const trust = page.getByRole('alertdialog', { name: /^Trust/ });
  await expect(dialog).toBeHidden();
  if (await trust.isVisible()) await trust.getByRole('button', { name: 'Trust and start' }).click();
  const card = page.locator('[data-approval]');
  await expect(card).toHaveAttribute('data-armed', 'true');
  await card.locator('.opt').first().click();
  await idle(page);
  writeFileSync(join(host.project, 'notes.md'), 'one\n2\nthree\nfour\n');
  writeFileSync(join(host.project, 'fresh.txt'), 'new\n');

  // From the end of the turn.
  await page.locator('[data-turn-end]').getByRole('button', { name: /1 file/ }).click();
  const view = page.getByRole('region', { name: 'Changes', exact: true });
  await expect(view).toHaveAttribute('data-changes', 'turn');
  const files = view.getByRole('listbox', { name: 'Changed files' });
  await expect(files).toBeFocused();
  await expect(files.getByRole('option', { selected: true })).toHaveAccessibleName(/programme\.md.*1 added, 0 removed/);
  await expect(view.getByText('added:').first()).toBeAttached();
  await page.screenshot({ path: 'test-results/changes-turn.png' });
  await page.keyboard.press('Escape');
  await expect(view).toBeHidden();
  await expect(page.getByRole('textbox', { name: 'Message' })).toBeFocused();

  // By its key, then git: status and difference, in both views.
  await page.keyboard.press('Control+Shift+G');
  await expect(view).toHaveAttribute('data-changes', 'chat');
  await view.getByRole('radio', { name: 'git' }).click();
  await expect(view).toContainText('main');
  await expect(files.getByRole('option')).toHaveCount(2);
  await files.focus();
  await page.keyboard.press('Home');
  await expect(files.getByRole('option', { selected: true })).toHaveAccessibleName('notes.md, modified, 2 added, 1 removed');
  const pane = view.getByRole('region', { name: 'Changes in notes.md' });
  await expect(pane).toContainText('removed: two');
  await expect(pane).toContainText('added: four');
  await page.screenshot({ path: 'test-results/changes-git.png' });
  await view.getByRole('radio', { name: 'Split' }).click();
  await expect(pane.locator('.two').first()).toBeVisible();
  await page.screenshot({ path: 'test-results/changes-split.png' });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.screenshot({ path: 'test-results/changes-split-dark.png' });
  await page.emulateMedia({ colorScheme: 'light' });
  await files.focus();
  await page.keyboard.press('End');
  await expect(view.getByRole('region', { name: 'Changes in fresh.txt' })).toContainText('added: new');
  await page.keyboard.press('Enter');
  await expect(view.getByRole('region', { name: 'Changes in fresh.txt' })).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(view).toBeHidden();

  // As a command too, and usage behind the meter.
  await page.getByRole('textbox', { name: 'Message' }).fill('/changes');
  await page.keyboard.press('Enter');
  await expect(view).toBeVisible();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /^Usage: / }).click();
  const usage = page.getByRole('dialog', { name: 'Usage' });
  await expect(usage).toContainText('1 turn');
  await page.screenshot({ path: 'test-results/usage.png' });
  await page.keyboard.press('Escape');
  await expect(usage).toBeHidden();
});
