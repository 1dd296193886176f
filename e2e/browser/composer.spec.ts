import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from './host';
import type { Page } from './playwright';

/** What a person writes: mentions, attachments, commands, earlier prompts; all of it against the real host. */

const PIXEL = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

async function newChat(page: Page, url: string, folder: string, prompt: string) {
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
  await idle(page);
}

const idle = (page: Page) => expect(page.locator('[data-chat]')).toHaveAttribute('data-turn', 'idle', { timeout: 30_000 });
const composer = (page: Page) => page.getByRole('textbox', { name: 'Message' });
const lastSaid = (page: Page) => page.locator('[data-row="user"]').last();

test('a file is mentioned by keyboard, as git sees the folder', async ({ page, host }) => {
  execFileSync('git', ['init', '-q'], { cwd: host.project });
  for (const f of ['src/upload/retry.go', 'src/upload/retry_test.go', 'docs/my notes.md', 'build/out.js']) {
    mkdirSync(join(host.project, f, '..'), { recursive: true });
    writeFileSync(join(host.project, f), 'x');
  }
  writeFileSync(join(host.project, '.gitignore'), 'build/\n');
  await newChat(page, host.url, host.project, 'hello');
  await composer(page).pressSequentially('look at @retr');
  const list = page.getByRole('listbox', { name: 'Files' });
  await expect(list.getByRole('option').first()).toHaveAccessibleName('src/upload/retry.go');
  await page.screenshot({ path: 'test-results/mention.png' });
  await page.keyboard.press('ArrowDown');
  await expect(list.getByRole('option', { selected: true })).toHaveAccessibleName('src/upload/retry_test.go');
  await page.keyboard.press('Enter');
  await expect(composer(page)).toHaveValue('look at @src/upload/retry_test.go ');
  // A path with a space stands in quotes; what git ignores is not offered; a new file is.
  await composer(page).pressSequentially('and @notes');
  await expect(list.getByRole('option').first()).toHaveAccessibleName('docs/my notes.md');
  await page.keyboard.press('Tab');
  await expect(composer(page)).toHaveValue('look at @src/upload/retry_test.go and @"docs/my notes.md" ');
  await composer(page).fill('');
  await composer(page).pressSequentially('@out.js');
  await expect(page.getByText('No file fits')).toBeVisible();
  writeFileSync(join(host.project, 'brand-new.txt'), '');
  await composer(page).fill('');
  await composer(page).pressSequentially('@brand');
  await expect(list.getByRole('option', { name: 'brand-new.txt' })).toBeVisible();
  // Into a folder with Tab; Escape leaves the list and keeps what is written.
  await composer(page).fill('');
  await composer(page).pressSequentially('@uploa');
  await expect(list.getByRole('option').first()).toHaveAccessibleName('src/upload/');
  await page.keyboard.press('Tab');
  await expect(composer(page)).toHaveValue('@src/upload/');
  await expect(list.getByRole('option')).toHaveCount(3);
  await page.keyboard.press('Escape');
  await expect(list).toBeHidden();
  await expect(composer(page)).toHaveValue('@src/upload/');
});

test('files are attached, survive a reload as a draft, go with the message and are shown', async ({ page, host }) => {
  await newChat(page, host.url, host.project, 'hello');
  const chat = (await page.locator('[data-chat]').getAttribute('data-chat'))!;
  const kept = join(host.home, 'data/attachments', chat);
  const items = page.locator('[data-region="dock"]').getByRole('list', { name: 'Attachments' }).getByRole('listitem');
  // By the file dialog of the browser.
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Attach' }).click()]);
  await chooser.setFiles([{ name: 'shot.png', mimeType: 'image/png', buffer: PIXEL }, { name: 'report.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7\0\0') }]);
  await expect(items).toHaveCount(2);
  await expect(items.first().locator('img')).toBeVisible();
  // A long paste becomes one; a short one stays text.
  await composer(page).focus();
  const paste = (text: string) => page.evaluate((t) => {
    const data = new DataTransfer();
    data.setData('text/plain', t);
    document.activeElement!.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  }, text);
  await paste('a line\n'.repeat(300));
  await expect(items).toHaveCount(3);
  await expect(items.last()).toContainText('Pasted text, 301 lines');
  // Dropped.
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(['dropped'], 'notes.txt', { type: 'text/plain' }));
    const to = document.querySelector('[data-region="dock"] textarea')!;
    for (const type of ['dragover', 'drop']) to.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
  });
  await expect(items).toHaveCount(4);
  // What is too large says so and changes nothing.
  const [again] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Attach' }).click()]);
  await again.setFiles([{ name: 'big.png', mimeType: 'image/png', buffer: Buffer.concat([PIXEL, Buffer.alloc(5 << 20)]) }]);
  await expect(page.getByText('big.png is 5.0 MB, at most 5.0 MB can be attached')).toBeVisible();
  await expect(items).toHaveCount(4);
  await composer(page).fill('what is in these?');
  await page.screenshot({ path: 'test-results/attached.png' });
  // 0600 below 0700, by content.
  const folders = readdirSync(kept);
  expect(folders).toHaveLength(4);
  for (const f of folders) {
    const [name] = readdirSync(join(kept, f));
    expect([f.length, statSync(join(kept, f)).mode & 0o777, statSync(join(kept, f, name!)).mode & 0o777]).toEqual([32, 0o700, 0o600]);
  }
  // The draft is there after a reload, then it is sent.
  await page.waitForTimeout(500);
  await page.reload();
  await expect(items).toHaveCount(4);
  await expect(composer(page)).toHaveValue('what is in these?');
  await items.last().getByRole('button', { name: 'Remove notes.txt' }).click();
  await expect(items).toHaveCount(3);
  await composer(page).focus();
  await page.keyboard.press('Enter');
  await expect(lastSaid(page)).toContainText('what is in these?');
  const shown = lastSaid(page).getByRole('list', { name: 'Attachments' });
  await expect(shown.getByRole('listitem')).toHaveCount(3);
  await idle(page);
  await page.reload();
  await expect(shown.getByRole('listitem')).toHaveCount(3);
  await expect(shown.locator('img')).toBeVisible();
  await shown.getByRole('button', { name: 'Show shot.png' }).click();
  await expect(page.getByRole('dialog', { name: 'shot.png' }).getByRole('img', { name: 'shot.png' })).toBeVisible();
  await page.keyboard.press('Escape');
  await page.screenshot({ path: 'test-results/attached-row.png' });
  // Gone with the chat.
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: /^Remove/ }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: /^Remove/ }).click();
  await expect.poll(() => readdirSync(join(host.home, 'data/attachments'))).toEqual([]);
});

test('our commands are answered here, others go to the agent', async ({ page, host }) => {
  await newChat(page, host.url, host.project, 'hello');
  const said = page.locator('[data-row="user"]');
  await expect(said).toHaveCount(1);
  await composer(page).pressSequentially('/sta');
  const list = page.getByRole('listbox', { name: 'Commands' });
  await expect(list.getByRole('option', { selected: true })).toHaveAccessibleName(/^\/status, Whippletree/);
  await page.screenshot({ path: 'test-results/commands.png' });
  await page.keyboard.press('Enter');
  await expect(composer(page)).toHaveValue('/status ');
  await page.keyboard.press('Enter');
  const answer = page.getByRole('region', { name: 'Status, by Whippletree' });
  await expect(answer).toContainText('Rehearsal');
  await expect(answer).toContainText('not sent to the agent');
  await expect(composer(page)).toHaveValue('');
  await page.keyboard.press('Escape');
  await expect(answer).toBeHidden();
  await composer(page).fill('/usage');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('region', { name: 'Usage, by Whippletree' })).toContainText('1 turn');
  await composer(page).fill('/rename The curtain call');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('tab', { name: /The curtain call/ })).toBeVisible();
  await composer(page).fill('/handoff');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('alertdialog', { name: 'Continue this chat in a terminal?' })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(said).toHaveCount(1);
  // With more words, or of another name, it is the agent's.
  await composer(page).fill('/status of the house');
  await page.keyboard.press('Enter');
  await expect(lastSaid(page)).toContainText('/status of the house');
  await idle(page);
  await composer(page).fill('/no-such-command');
  await page.keyboard.press('Enter');
  await expect(lastSaid(page)).toContainText('/no-such-command');
  await idle(page);
});

test('earlier prompts come back, by project and over a reload; the key that sends is a setting', async ({ page, host }) => {
  await newChat(page, host.url, host.project, 'first of all');
  await composer(page).fill('second of all');
  await page.keyboard.press('Enter');
  await expect(lastSaid(page)).toContainText('second of all');
  await idle(page);
  await page.reload();
  await composer(page).focus();
  await page.keyboard.press('ArrowUp');
  await expect(composer(page)).toHaveValue('second of all');
  await page.keyboard.press('ArrowUp');
  await expect(composer(page)).toHaveValue('first of all');
  await page.keyboard.press('ArrowDown');
  await expect(composer(page)).toHaveValue('second of all');
  await page.keyboard.press('ArrowDown');
  await expect(composer(page)).toHaveValue('');
  // Another chat of the same project finds them too.
  await page.keyboard.press('Control+Shift+N');
  const dialog = page.getByRole('dialog', { name: 'New chat' });
  await dialog.getByRole('radio', { name: /Rehearsal/ }).click();
  await dialog.getByLabel('Folder').fill(host.project);
  await dialog.getByLabel(/First message/).fill('third of all');
  await dialog.getByRole('button', { name: 'Start chat' }).click();
  await expect(dialog).toBeHidden();
  await expect(lastSaid(page)).toContainText('third of all');
  await idle(page);
  for (let i = 0; i < 2; i++) await page.keyboard.press('ArrowUp');
  await expect(composer(page)).toHaveValue('second of all');
  await page.keyboard.press('Escape');
  await expect(composer(page)).toHaveValue('');
  // Ctrl Enter sends.
  await page.keyboard.press('Control+Shift+,');
  await page.getByRole('radio', { name: 'Ctrl Enter' }).click();
  await page.keyboard.press('Escape');
  await composer(page).fill('one');
  await page.keyboard.press('Enter');
  await page.keyboard.type('two');
  await expect(composer(page)).toHaveValue('one\ntwo');
  await page.keyboard.press('Control+Enter');
  await expect(lastSaid(page)).toContainText('one');
  await idle(page);
  expect(readFileSync(join(host.home, 'data/settings.json'), 'utf8')).toContain('"sendWith": "ctrlEnter"');
});
