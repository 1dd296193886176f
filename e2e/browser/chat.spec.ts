import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from './host';
import type { Page } from './playwright';

/** The chat part of the window against the real host. */

async function start(page: Page, url: string, folder: string, prompt: string) {
  await page.goto(url);
  await page.getByRole('button', { name: /^Show (the window|my)/ }).click();
  await page.keyboard.press('Control+Shift+N');
  const dialog = page.getByRole('dialog', { name: 'New chat' });
  await dialog.getByRole('radio', { name: /Rehearsal/ }).click();
  await dialog.getByLabel('Folder').fill(folder);
  await dialog.getByLabel(/First message/).fill(prompt);
  await dialog.getByRole('button', { name: 'Start chat' }).click();
  const trust = page.getByRole('alertdialog', { name: /^Trust/ });
  await expect(dialog).toBeHidden();
  if (await trust.isVisible()) await trust.getByRole('button', { name: 'Trust and start' }).click();
  await expect(page.locator('[data-chat]')).toBeVisible();
}

const say = async (page: Page, text: string) => {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
};
/** Turns that ended well are folded: all of them are opened. */
async function unfold(page: Page) {
  const closed = page.locator('[data-entry^="fold:"] button[aria-expanded="false"]');
  while (await closed.count()) await closed.first().click();
}
const idle = (page: Page) => expect(page.locator('[data-chat]')).toHaveAttribute('data-turn', 'idle', { timeout: 30_000 });

test('an answer can be made a rule, which answers alone, is told, survives a reload and is revoked where it answered', async ({ page, host }) => {
  await start(page, host.url, host.project, 'run echo');
  const card = page.locator('[data-approval]');
  await expect(card).toHaveAttribute('data-armed', 'true', { timeout: 30_000 });
  await card.getByRole('checkbox').check();
  await card.locator('.opt').first().click();
  await expect(card).toBeHidden();
  await idle(page);
  const past = page.locator('[data-approval-past]');
  await expect(past.last()).toContainText('You allowed always, exactly this');
  await say(page, 'run echo');
  await expect(past.last()).toContainText('Allowed by a rule of this project', { timeout: 30_000 });
  await idle(page);
  // What was answered is read back from the store.
  await page.reload();
  await expect(past.first()).toBeVisible();
  await unfold(page);
  await expect(past).toHaveCount(2);
  await expect(past.first()).toContainText('You allowed always, exactly this');
  await past.last().getByRole('button', { name: 'Revoke the rule' }).click();
  await expect(past.last()).toContainText('Revoked');
  await say(page, 'run echo');
  await expect(card).toBeVisible({ timeout: 30_000 });
});

test('a file that an agent named opens in the editor of the settings, at its line', async ({ page, host }) => {
  const editor = join(host.home, 'editor');
  const told = join(host.home, 'told');
  writeFileSync(editor, `#!/bin/sh\nprintf '%s\\n' "$@" > ${told}.part && mv ${told}.part ${told}\n`);
  chmodSync(editor, 0o700);
  // Settings are a person's: typed in a terminal.
  execFileSync(join(host.home, '../xterm'), ['-c', '"$0" settings set editor.command "$1"; exit $?', host.bin, JSON.stringify([editor, '+{line}', '{file}'])], { env: host.env });
  await start(page, host.url, host.project, 'edit a file');
  const card = page.locator('[data-approval]');
  const open = page.locator('[data-row="tool"]').getByRole('button', { name: /^Open .* in the editor$/ }).first();
  await expect(card.or(open).first()).toBeVisible({ timeout: 30_000 });
  while (await card.isVisible()) {
    await expect(card).toHaveAttribute('data-armed', 'true');
    await card.locator('.opt').first().click();
    await page.evaluate(() => new Promise((r) => setTimeout(r, 300)));
  }
  await idle(page);
  await unfold(page);
  await open.click();
  await expect.poll(() => { try { return readFileSync(told, 'utf8'); } catch { return ''; } }, { timeout: 20_000 }).toMatch(/^\+\d+\n\/.+\/programme\.md\n$/);
});
