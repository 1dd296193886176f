import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from './host';
import type { Page } from './playwright';

/** Found, exported, archived and brought back, removed: against the real host. */

async function newChat(page: Page, folder: string, prompt: string) {
  await page.keyboard.press('Control+Shift+N');
  const dialog = page.getByRole('dialog', { name: 'New chat' });
  await dialog.getByRole('radio', { name: /Rehearsal/ }).click();
  await dialog.getByLabel('Folder').fill(folder);
  await dialog.getByLabel(/First message/).fill(prompt);
  await dialog.getByRole('button', { name: 'Start chat' }).click();
  const trust = page.getByRole('alertdialog', { name: /^Trust/ });
  await expect(dialog).toBeHidden();
  if (await trust.isVisible()) await trust.getByRole('button', { name: 'Trust and start' }).click();
  await expect(page.locator('[data-chat]')).toHaveAttribute('data-turn', 'idle', { timeout: 30_000 });
}

test('what was said is found, exported, archived, brought back and removed', async ({ page, host }) => {
  await page.goto(host.url);
  await page.getByRole('button', { name: /^Show (the window|my)/ }).click();
  await newChat(page, host.project, 'hello needleInTheHaystack');
  await newChat(page, host.project, 'hello again, 请把连接池的大小改成二十');

  await page.keyboard.press('Control+Shift+S');
  const box = page.getByRole('combobox', { name: 'Search in everything' });
  await box.fill('LEINTHEHAY');
  const hit = page.locator('[data-hit]').filter({ hasText: 'needleInTheHaystack' }).last();
  await expect(hit.locator('mark')).toHaveText('leInTheHay');
  await page.screenshot({ path: 'test-results/search.png' });
  await hit.click();
  await expect(page.locator('[data-view="search"]')).toBeHidden();
  await expect(page.locator('[data-row="user"]').first()).toContainText('needleInTheHaystack');

  await page.keyboard.press('Control+Shift+S');
  await box.fill('连接');
  await expect(page.locator('[data-hit]').last()).toContainText('连接池');
  await page.keyboard.press('Escape');

  // Export: a download in a browser.
  await page.keyboard.press('Control+Shift+K');
  await page.getByRole('combobox', { name: 'Search or run' }).fill('>export');
  await page.keyboard.press('Enter');
  await page.getByRole('radio', { name: /JSON/ }).click();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export', exact: true }).click()]);
  const doc = JSON.parse(readFileSync(await download.path(), 'utf8')) as { chat: { harness: string }; items: { text?: string }[] };
  expect(doc.items.some((i) => i.text?.includes('needleInTheHaystack'))).toBe(true);

  // Archive, look at the archive, bring it back.
  await page.keyboard.press('Control+Shift+K');
  await page.getByRole('combobox', { name: 'Search or run' }).fill('>archive the chat');
  await page.keyboard.press('Enter');
  await expect(page.getByText('Chat archived')).toBeVisible();
  await page.keyboard.press('Control+Shift+H');
  await page.getByRole('tab', { name: 'Archive' }).click();
  await page.getByRole('button', { name: 'Bring back' }).click();
  await expect(page.getByText('The archive is empty')).toBeVisible();
  await page.keyboard.press('Escape');

  // Remove, after the dialog said what goes and what stays.
  await page.getByRole('tab', { name: /^Chats/ }).click();
  await page.getByRole('button', { name: /^More about/ }).first().click();
  await page.getByRole('menuitem', { name: /Remove/ }).press('Enter');
  const dialog = page.getByRole('alertdialog');
  await expect(dialog.getByRole('button', { name: 'Keep it' })).toBeFocused();
  await expect(dialog.locator('[data-stays]')).toContainText(/not touched|keeps no session/);
  await dialog.getByRole('button', { name: 'Remove the chat' }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByRole('tab', { name: /^Chats/ })).toContainText('1');
});

test('a stored session is previewed, and opened as one chat, without a change to the file of the agent', async ({ page, host }) => {
  // As Claude Code keeps it.
  const dir = join(host.home, '.claude/projects', host.project.replaceAll(/[^A-Za-z0-9]/g, '-'));
  mkdirSync(dir, { recursive: true });
  const id = '0b1c2d3e-0000-4000-8000-00000000abcd';
  const base = { isSidechain: false, userType: 'external', cwd: host.project, sessionId: id, version: '2.1.332', gitBranch: 'main' };
  const lines = [
    { ...base, parentUuid: null, type: 'user', message: { role: 'user', content: 'where is the storedNeedle kept?' }, uuid: '11111111-0000-4000-8000-000000000001', timestamp: '2026-11-01T10:00:00.000Z' },
    { ...base, parentUuid: '11111111-0000-4000-8000-000000000001', type: 'assistant', message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [{ type: 'text', text: 'It is kept in the haystack.' }], stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 } }, requestId: 'req_1', uuid: '11111111-0000-4000-8000-000000000002', timestamp: '2026-11-01T10:00:05.000Z' },
  ];
  const file = join(dir, `${id}.jsonl`);
  const body = lines.map((l) => JSON.stringify(l) + '\n').join('');
  writeFileSync(file, body);

  await page.goto(host.url);
  await page.getByRole('button', { name: /^Show (the window|my)/ }).click();
  await page.keyboard.press('Control+Shift+H');
  const row = page.locator(`[data-stored="claude-code/${id}"]`);
  await expect(row).toBeVisible();
  await row.click();
  await expect(page.locator('[data-preview="ready"]')).toContainText('It is kept in the haystack.');
  await page.screenshot({ path: 'test-results/history.png' });
  for (let i = 0; i < 2; i++) {
    await page.getByRole('button', { name: /^(Open as a chat|Show the chat)$/ }).click();
    await expect(page.locator('[data-row="text"]').last()).toContainText('It is kept in the haystack.');
    if (i === 0) {
      await page.keyboard.press('Control+Shift+H');
      await page.locator(`[data-stored="claude-code/${id}"]`).click();
      await expect(page.getByText('chat here')).toBeVisible();
    }
  }
  const chats = JSON.parse(execFileSync(host.bin, ['chats', '--json'], { env: host.env, encoding: 'utf8' })) as { chats: unknown[] };
  expect(chats.chats).toHaveLength(1);
  // Nothing of the agent's was touched.
  expect(readFileSync(file, 'utf8')).toBe(body);
});
