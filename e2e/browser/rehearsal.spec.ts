import { expect, test } from './host';
import type { Page } from './playwright';

/** Past the first-run page, into an empty window. */
async function open(page: Page, url: string) {
  await page.goto(url);
  await page.getByRole('button', { name: /^Show (the window|my)/ }).click();
}

/** A chat with Rehearsal in the scratch folder, with its first message. */
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
  await expect(page.locator('[data-chat]')).toBeVisible();
}

const say = async (page: Page, text: string) => {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
};
const idle = (page: Page) => expect(page.locator('[data-chat]')).toHaveAttribute('data-turn', 'idle', { timeout: 30_000 });

test('the window opens and says what is there', async ({ page, host }) => {
  const errors: string[] = [];
  page.on('console', (m) => m.type() === 'error' && errors.push(m.text()));
  page.on('pageerror', (e) => errors.push(String(e)));
  await page.goto(host.url);
  await expect(page.getByRole('button', { name: 'Try Rehearsal' })).toBeVisible();
  await page.screenshot({ path: 'test-results/welcome.png' });
  expect(errors).toEqual([]);
});

test('an answer streams, is kept over a reload, and a question is one chat', async ({ page, host }) => {
  await open(page, host.url);
  await newChat(page, host.project, 'wait for me');
  // The agent holds its answer half-way: the first half is visible before the turn ends.
  await expect(page.getByText('I stand still in the middle of this answer')).toBeVisible();
  await expect(page.locator('[data-chat]')).toHaveAttribute('data-turn', 'running');
  await page.screenshot({ path: 'test-results/streaming.png' });
  await page.getByRole('button', { name: 'Stop' }).click();
  await idle(page);
  await say(page, 'hello there');
  await expect(page.locator('[data-row="user"]').last()).toContainText('hello there');
  await idle(page);
  await page.screenshot({ path: 'test-results/answer.png' });
  await page.reload();
  await expect(page.locator('[data-row="user"]').last()).toContainText('hello there');
});

test('an approval is answered by mouse and by keyboard', async ({ page, host }) => {
  await open(page, host.url);
  await newChat(page, host.project, 'run echo');
  const card = page.locator('[data-approval]');
  await expect(card).toBeVisible();
  await page.screenshot({ path: 'test-results/approval.png' });
  await expect(card).toHaveAttribute('data-armed', 'true');
  await card.locator('.opt').first().click();
  await expect(card).toBeHidden();
  await expect(page.getByText('The curtain is up.').first()).toBeVisible();
  await idle(page);
  await say(page, 'run date');
  await expect(card).toBeVisible();
  // Digits and Enter do nothing while the card has no focus or is not armed.
  await page.keyboard.press('1');
  await expect(card).toBeVisible();
  await page.keyboard.press('Control+Shift+A');
  await expect(card).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(card).toHaveAttribute('data-armed', 'true');
  await page.keyboard.press('Tab');
  await expect(card.locator('.opt:focus')).toContainText(/no|not|don/i);
  await page.keyboard.press('Shift+Tab');
  const refuse = await card.locator('.opt').evaluateAll((all) => all.findIndex((o) => o.matches('[tabindex="0"]')));
  await page.keyboard.press(String(refuse + 1));
  if (await card.locator('.comment').isVisible()) await card.locator('.comment button').click();
  await expect(card).toBeHidden();
  await expect(page.locator('[data-approval-past]').last()).toContainText('You said no');
  await idle(page);
  await page.screenshot({ path: 'test-results/after-approval.png' });
});

test('messages queue while a turn runs, can be changed, and are sent in order', async ({ page, host }) => {
  await open(page, host.url);
  await newChat(page, host.project, 'wait for me');
  await expect(page.getByText('I stand still')).toBeVisible();
  for (const text of ['first one', 'second one', 'third one']) await say(page, text);
  const queue = page.getByRole('region', { name: 'Queued messages' });
  await expect(queue.getByRole('listitem')).toHaveCount(3);
  await queue.getByRole('listitem').nth(2).focus();
  await page.keyboard.press('Alt+ArrowUp');
  await expect(queue.getByRole('listitem').nth(1)).toContainText('third one');
  await queue.getByRole('listitem').nth(0).getByRole('button', { name: 'Edit' }).click();
  await queue.getByRole('textbox').fill('hello first');
  await page.keyboard.press('Enter');
  await expect(queue.getByRole('listitem').nth(0)).toContainText('hello first');
  await queue.getByRole('listitem').nth(2).getByRole('button', { name: 'Remove' }).click();
  await expect(queue.getByRole('listitem')).toHaveCount(2);
  await page.screenshot({ path: 'test-results/queue.png' });
  await page.keyboard.press('Control+Shift+.');
  // A stop keeps the queue: a person lets it go on.
  await idle(page);
  await expect(queue).toContainText('kept after the stop');
  await queue.getByRole('button', { name: 'Send now' }).click();
  await expect(queue).toBeHidden({ timeout: 40_000 });
  await idle(page);
  const said = page.locator('[data-row="user"]');
  await expect(said.last()).toContainText('third one');
  // Rows far above the end are not drawn until they come near.
  await page.getByRole('log').evaluate((el) => (el.scrollTop = 0));
  await expect(said.first()).toContainText('wait for me');
  await expect(said.nth(1)).toContainText('hello first');
});

test('a chat goes on in a terminal tab and comes back', async ({ page, host }) => {
  await open(page, host.url);
  await newChat(page, host.project, 'hello');
  await idle(page);
  await page.getByRole('button', { name: 'Continue in terminal' }).click();
  const dialog = page.getByRole('alertdialog', { name: 'Continue this chat in a terminal?' });
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await page.screenshot({ path: 'test-results/continue.png' });
  await dialog.getByRole('button', { name: 'Continue in terminal' }).click();
  await expect(page.locator('[data-hand="mirror"]')).toBeVisible({ timeout: 30_000 });
  const terminal = page.locator('[data-terminal]');
  await expect(terminal.locator('.xterm-rows')).toContainText('hello', { timeout: 20_000 });
  await terminal.click();
  await page.keyboard.type('typed over there');
  await page.keyboard.press('Enter');
  await expect(page.locator('[data-row="user"]').last()).toContainText('typed over there', { timeout: 20_000 });
  await page.screenshot({ path: 'test-results/mirror.png' });
  await page.getByRole('button', { name: 'Take over' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: /ake over/ }).click();
  await expect(page.locator('[data-hand="app"]')).toBeVisible({ timeout: 30_000 });
  await page.locator('[data-pane="0"]').getByRole('textbox', { name: 'Message' }).fill('and back here');
  await page.keyboard.press('Enter');
  await expect(page.locator('[data-row="user"]').last()).toContainText('and back here');
  await page.screenshot({ path: 'test-results/taken-back.png' });
});

test('a terminal takes what is typed and keeps it over a reload', async ({ page, host }) => {
  await open(page, host.url);
  await page.keyboard.press('Control+Shift+T');
  const rows = page.locator('[data-terminal] .xterm-rows');
  await expect(rows).toContainText(/[$#]/);
  await page.keyboard.type('echo one$((1+1))three');
  await page.keyboard.press('Enter');
  await expect(rows).toContainText('one2three');
  await page.screenshot({ path: 'test-results/terminal.png' });
  await page.reload();
  await expect(rows).toContainText('one2three');
  await page.keyboard.press('Control+Shift+F');
  await page.getByRole('textbox', { name: 'Find in the terminal' }).fill('one2');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
});

test('a switch in the settings works at once', async ({ page, host }) => {
  await open(page, host.url);
  await page.keyboard.press('Control+Shift+,');
  await page.getByRole('button', { name: 'Agents', exact: true }).click();
  const row = page.locator('[data-harness="rehearsal"]');
  await row.getByRole('switch').click();
  await expect(row.getByRole('switch')).toHaveAttribute('aria-checked', 'false');
  await expect(row).toContainText('Off');
  await page.screenshot({ path: 'test-results/settings.png' });
  await row.getByRole('switch').click();
  await expect(row).toContainText('Ready');
  await page.getByRole('button', { name: 'General', exact: true }).click();
  await page.getByRole('radio', { name: 'Dark' }).click();
  await expect(page.locator('html')).toHaveClass(/dark/);
  await page.screenshot({ path: 'test-results/settings-dark.png' });
});

test('the demonstration starts in one click, plans, asks and edits', async ({ page, host }) => {
  await page.goto(host.url);
  await page.getByRole('button', { name: 'Try Rehearsal' }).click();
  const trust = page.getByRole('alertdialog', { name: /^Trust/ });
  const card = page.locator('[data-approval]');
  await expect(trust.or(page.locator('[data-chat]')).first()).toBeVisible();
  if (await trust.isVisible()) await trust.getByRole('button', { name: 'Trust and start' }).click();
  await expect(card).toHaveAttribute('data-armed', 'true', { timeout: 40_000 });
  await page.screenshot({ path: 'test-results/demo.png' });
  while ((await page.locator('[data-chat]').getAttribute('data-turn')) !== 'idle') {
    if (await card.isVisible()) await card.locator('.opt').first().click({ timeout: 5000 }).catch(() => {});
    await page.evaluate(() => new Promise((r) => setTimeout(r, 300)));
  }
  await expect(page.locator('[data-row="plan"]').first()).toBeVisible();
  await expect(page.locator('[data-approval-past]').first()).toContainText('You allowed');
  await page.screenshot({ path: 'test-results/demo-done.png' });
});

test('questions are answered on one card', async ({ page, host }) => {
  await open(page, host.url);
  await newChat(page, host.project, 'ask me a question');
  const card = page.locator('[data-approval]');
  await expect(card).toContainText('Where shall we play tonight?');
  await card.focus();
  await expect(card.getByRole('radio').first()).toBeEnabled();
  await page.keyboard.press('2');
  await expect(card.getByRole('radio').nth(1)).toBeChecked();
  await page.screenshot({ path: 'test-results/question.png' });
  await card.getByRole('button', { name: 'Next question' }).click();
  await card.getByRole('checkbox').first().click();
  await card.getByRole('button', { name: 'Next question' }).click();
  await card.getByRole('textbox').fill('Once upon a time');
  await card.getByRole('button', { name: 'Answer', exact: true }).click();
  await expect(card).toBeHidden();
  await expect(page.getByText('Once upon a time').first()).toBeVisible();
});
