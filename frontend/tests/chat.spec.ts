import { expect, test, type Page } from '@playwright/test';
import { calls, drawn, open, publish, violations } from './open';
import { serve, type Served } from './serve';

/** The timeline of a chat in a whole window: streaming, folds, find, and what can be done with a row. */

let served: Served;
test.beforeAll(async () => {
  served = await serve('dist-gallery');
});
test.afterAll(() => served.close());

const log = (page: Page) => page.getByRole('log');
const wait = (page: Page, ms: number) => page.evaluate((t) => new Promise((r) => setTimeout(r, t)), ms);

test('finished blocks are never drawn again, however much follows', async ({ page }) => {
  await open(page, served.url, 'working', '[data-chat]');
  const head = '# Title\n\nA **first** paragraph.\n\n```go\nfunc main() {}\n```\n\n- one\n- two\n\n';
  await publish(page, 'chat:c1', 'row', { id: 's', type: 'text', at: 1, seq: 900, turn: 2, text: head, provisional: true });
  await publish(page, 'chat:c1', 'append', { id: 's', at: head.length, text: 'The last paragraph ' });
  await drawn(page);
  await wait(page, 600);
  const watch = page.evaluate(() => {
    const md = document.querySelector('[data-entry="s"] .md')!;
    const blocks = [...md.children].slice(0, 4);
    const state = { touched: 0, tail: 0, kept: () => blocks.every((b) => b.isConnected && b.parentElement === md) };
    (window as never as { state: typeof state }).state = state;
    for (const b of blocks) new MutationObserver((l) => (state.touched += l.length)).observe(b, { subtree: true, childList: true, characterData: true, attributes: true });
    new MutationObserver((l) => (state.tail += l.length)).observe(md, { subtree: true, childList: true, characterData: true });
    return blocks.length;
  });
  expect(await watch).toBe(4);
  let at = head.length + 'The last paragraph '.length;
  for (let i = 0; i < 400; i++) {
    const text = i % 50 === 49 ? '\n\nNext one, ' : `word${i} `;
    await publish(page, 'chat:c1', 'append', { id: 's', at, text });
    at += text.length;
  }
  await drawn(page);
  const state = await page.evaluate(() => {
    const s = (window as never as { state: { touched: number; tail: number; kept(): boolean } }).state;
    return { touched: s.touched, tail: s.tail, kept: s.kept() };
  });
  expect(state.kept).toBe(true);
  expect(state.touched).toBe(0);
  expect(state.tail).toBeGreaterThan(0);
  await expect(page.locator('[data-entry="s"]')).toContainText('word398');
});

test('one worker colours the code of the whole window', async ({ page }) => {
  const workers: string[] = [];
  page.on('worker', (w) => workers.push(w.url()));
  await open(page, served.url, 'long', '[data-chat]');
  await expect(page.locator('.hl-k').first()).toBeVisible();
  await log(page).evaluate((el) => (el.scrollTop = el.scrollHeight / 2));
  await wait(page, 500);
  expect(workers).toHaveLength(1);
});

test('what arrives while a person reads above moves nothing, and is counted', async ({ page }) => {
  await open(page, served.url, 'long', '[data-entry="l1199"]');
  await log(page).hover();
  await page.mouse.wheel(0, -3000);
  await expect(page.getByRole('button', { name: 'To the end' })).toBeVisible();
  await wait(page, 700);
  const place = () => page.evaluate(() => {
    const box = document.querySelector('[role="log"]')!.getBoundingClientRect();
    const first = [...document.querySelectorAll<HTMLElement>('[data-entry]')].find((e) => e.getBoundingClientRect().top >= box.top)!;
    return [first.dataset.entry, Math.round(first.getBoundingClientRect().top - box.top)];
  });
  const before = await place();
  for (let i = 0; i < 30; i++) await publish(page, 'chat:c1', 'row', { id: `n${i}`, type: 'text', at: 1, endedAt: 2, seq: 5000 + i, turn: 400, text: `new ${i}\n\nwith two lines` });
  await drawn(page);
  await wait(page, 300);
  expect(await place()).toEqual(before);
  await expect(page.getByRole('button', { name: '30 new below' })).toBeVisible();
  // A fold far above opens and closes without moving what is read.
  await page.getByRole('button', { name: '30 new below' }).click();
  await expect(page.locator('[data-entry="n29"]')).toBeInViewport();
});

test('a chat opens on its tail, older rows come without a jump, and only some rows are drawn', async ({ page }) => {
  await open(page, served.url, 'long', '[data-entry="l1199"]');
  await expect(page.locator('[data-entry="end:122"]')).toBeInViewport();
  expect(await page.locator('[data-entry]').count()).toBeLessThan(60);
  await page.evaluate(() => globalThis.fakeHost.on('chats.rows', () => ({ rows: Array.from({ length: 99 }, (_, i) => ({ id: `o${i}`, type: 'text', at: 1, endedAt: 2, seq: 1 + i, turn: 1, text: `Older ${i}\n\nand more` })), total: 1250 })));
  await log(page).hover();
  const place = () => log(page).evaluate((el) => el.scrollTop);
  for (let i = 0; i < 60 && (await place()) > 6000; i++) await page.mouse.wheel(0, -4000);
  while ((await calls(page, 'chats.rows')).length === 0) await page.mouse.wheel(0, -150);
  await wait(page, 300);
  // What was read is where it was; the older rows are above it.
  const first = await page.evaluate(() => {
    const box = document.querySelector('[role="log"]')!.getBoundingClientRect();
    return [...document.querySelectorAll<HTMLElement>('[data-entry]')].find((e) => e.getBoundingClientRect().bottom > box.top + 1)?.dataset.entry;
  });
  expect(first).toMatch(/^l1?\d$/);
  expect(await place()).toBeGreaterThan(1000);
});

test('steps fold when their turn ended well and nobody is at them, and never when it failed', async ({ page }) => {
  await open(page, served.url, 'working', '[data-chat]');
  const folds = log(page).locator('.fold[aria-expanded]').filter({ hasText: 'step' });
  const tools = page.locator('[data-row="tool"]');
  await page.mouse.move(5, 5);
  const base = await tools.count();
  expect(base).toBeGreaterThan(3);
  // The pointer is in the timeline: nothing folds under it.
  await log(page).hover();
  await publish(page, 'chat:c1', 'turn', { turn: 2, origin: 'prompt', state: 'idle', at: 1, end: { outcome: 'completed' } });
  await drawn(page);
  expect(await tools.count()).toBe(base);
  await page.mouse.move(5, 5);
  await expect.poll(() => tools.count()).toBeLessThan(base);
  await expect(folds.last()).toContainText(/steps/);
  // Opened by a person it stays open.
  await folds.last().click();
  await expect(folds.last()).toHaveAttribute('aria-expanded', 'true');
  await open(page, served.url, 'failed', '[data-row="error"]');
  await page.mouse.move(5, 5);
  await drawn(page);
  expect(await tools.count()).toBeGreaterThan(1);
});

test('a failed turn says the reason, the command that helps, and offers the message again', async ({ page }) => {
  await open(page, served.url, 'failed', '[data-row="error"]');
  await expect(page.locator('[data-row="error"]')).toContainText('not signed in any more');
  const end = page.locator('[data-end="failed"]');
  await expect(end).toContainText('claude auth login');
  await expect(end.getByRole('button', { name: 'Run in a tab' })).toBeVisible();
  await end.getByRole('button', { name: 'Edit and send again' }).click();
  await expect(page.getByRole('textbox', { name: 'Message' })).toHaveValue(/upload retry test fails/);
});

test('sub-agents nest as deep as they are, and open by keyboard', async ({ page }) => {
  await open(page, served.url, 'nested', '[data-entry="sa"]');
  await expect(page.locator('[data-entry="sb"]')).toHaveCount(0);
  await page.locator('[data-entry="sa"] button').focus();
  await page.keyboard.press('Enter');
  await expect(page.locator('[data-entry="sb"]')).toBeVisible();
  await page.locator('[data-entry="sb"] button').focus();
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('upload/gate_test.go').or(log(page).getByText('/gate_test.go')).first()).toBeVisible();
});

test('find goes through rows that are folded, cut or not drawn, and older ones', async ({ page }) => {
  await open(page, served.url, 'long', '[data-entry="l1199"]');
  let asked = 0;
  await page.exposeFunction('asked', () => asked++);
  await page.evaluate(() => globalThis.fakeHost.on('chats.rows', () => ((window as never as { asked(): void }).asked(), { rows: [{ id: 'first', type: 'text', at: 1, endedAt: 2, seq: 1, turn: 1, text: 'the needle of long ago' }], total: 1201 })));
  await page.keyboard.press('Control+Shift+F');
  const bar = page.getByRole('search', { name: 'Find in this chat' });
  const field = bar.getByRole('textbox');
  await expect(field).toBeFocused();
  await field.fill('Question 420');
  await expect(bar.getByRole('status')).toHaveText(/1 of 1$/);
  await expect(page.locator('[data-entry="l420"]')).toBeInViewport();
  await expect(page.locator('[data-entry="l420"]')).toHaveClass(/hit/);
  await field.fill('needle');
  await expect(page.locator('[data-entry="first"]')).toBeInViewport();
  expect(asked).toBeGreaterThan(0);
  // A word in a tool's head that is drawn nowhere now; Enter steps, Shift+Enter back.
  await field.fill('./pkg');
  await expect(bar.getByRole('status')).toHaveText(/120 of 120/);
  await page.keyboard.press('Enter');
  await expect(bar.getByRole('status')).toHaveText(/^1 of 120/);
  await expect(page.locator('[data-entry="l4"]')).toBeInViewport();
  await page.keyboard.press('Shift+Enter');
  await expect(bar.getByRole('status')).toHaveText(/120 of 120/);
  expect(await page.evaluate(() => CSS.highlights.has('found'))).toBe(true);
  await page.keyboard.press('Escape');
  await expect(bar).toHaveCount(0);
  await expect(page.getByRole('textbox', { name: 'Message' })).toBeFocused();
  expect(await page.evaluate(() => CSS.highlights.has('found'))).toBe(false);
});

test('find opens the fold that hides what was found', async ({ page }) => {
  await open(page, served.url, 'find', '[data-chat]');
  await page.mouse.move(5, 5);
  await page.keyboard.press('Control+F');
  const field = page.getByRole('search', { name: 'Find in this chat' }).getByRole('textbox');
  await field.fill('f3.go');
  await expect(log(page).getByText('/f3.go').first()).toBeInViewport();
});

test('a message, an answer and a whole turn are copied', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(page, served.url, 'done', '[data-chat]');
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await page.locator('[data-row="user"]').last().hover();
  await page.locator('[data-row="user"]').last().getByRole('button', { name: 'Copy the message' }).click();
  expect(await copied()).toMatch(/^The upload retry test fails/);
  await page.locator('[data-turn-end="2"]').hover();
  await page.locator('[data-turn-end="2"]').getByRole('button', { name: 'Copy the turn' }).click();
  const turn = await copied();
  expect(turn).toContain('**You**');
  expect(turn).toContain('```diff');
  expect(turn).toContain('exit 1');
});

test('a path opens in the editor at its line', async ({ page }) => {
  await open(page, served.url, 'working', '[data-chat]');
  await page.getByRole('button', { name: 'Open upload/retry_test.go in the editor' }).click();
  await expect.poll(() => calls(page, 'files.open')).toEqual([{ chatId: 'c1', path: 'upload/retry_test.go', line: 41 }]);
  await publish(page, 'chat:c1', 'row', { id: 'p', type: 'text', at: 1, endedAt: 2, seq: 990, turn: 2, text: 'See `upload/gate.go:17`, not `go test ./upload` or `Foo.bar`.' });
  const links = page.locator('[data-entry="p"] [data-file]');
  await expect(links).toHaveCount(1);
  await links.click();
  await expect.poll(() => calls(page, 'files.open').then((c) => c[1])).toEqual({ chatId: 'c1', path: 'upload/gate.go', line: 17 });
});

test('going back says what leaves and what happens to files, and gives the message back', async ({ page }) => {
  await open(page, served.url, 'rewind', '[data-chat]');
  const user = page.locator('[data-row="user"]').last();
  await user.hover();
  await user.getByRole('button', { name: 'Go back to before this message' }).click();
  const dialog = page.getByRole('alertdialog');
  await expect(dialog).toContainText('9 rows leave the conversation');
  await expect(dialog).toContainText('upload/gate_test.go');
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Both' }).click();
  await expect(dialog).toHaveCount(0);
  expect(await calls(page, 'chats.rewind')).toMatchObject([{ chatId: 'c1', what: 'both' }]);
  await expect(page.getByRole('textbox', { name: 'Message' })).toHaveValue(/upload retry test fails/);
});

test('a stop shows the step it came to and what can be done', async ({ page }) => {
  await open(page, served.url, 'stuck', '[data-stop="shared"]');
  const line = page.locator('[data-stop]');
  await expect(line).toContainText('others use its server');
  await page.evaluate(() => {
    globalThis.fakeHost.on('chats.stop', () => ({ turn: 'stopping' }));
    globalThis.fakeHost.on('chats.restartServer', () => ({ turn: 'stopping' }));
  });
  await line.getByRole('button', { name: 'Stop again' }).click();
  await line.getByRole('button', { name: 'Restart the server, ends 1 more' }).click();
  expect([await calls(page, 'chats.stop'), await calls(page, 'chats.restartServer')]).toEqual([[{ chatId: 'c1' }], [{ chatId: 'c1' }]]);
});

test('a running step is stopped alone', async ({ page }) => {
  await open(page, served.url, 'working', '[data-chat]');
  await publish(page, 'chat:c1', 'row', { id: 'bg', type: 'tool', at: 1, seq: 990, turn: 2, kind: 'execute', state: 'running', cancelable: true, detail: { execute: { command: 'sleep 600', background: true } } });
  await page.evaluate(() => globalThis.fakeHost.on('chats.cancelItem', () => ({})));
  await page.getByRole('button', { name: 'Stop only this: sleep 600' }).click();
  expect(await calls(page, 'chats.cancelItem')).toEqual([{ chatId: 'c1', itemId: 'bg' }]);
});

test('the queue is moved, edited and removed by keyboard', async ({ page }) => {
  await open(page, served.url, 'working', '[data-chat]');
  await page.evaluate(() => globalThis.fakeHost.on('chats.queue', () => ({ queue: [] })));
  const queue = page.getByRole('region', { name: 'Queued messages' });
  await queue.getByRole('listitem').nth(1).focus();
  await page.keyboard.press('Alt+ArrowUp');
  await queue.getByRole('listitem').nth(0).focus();
  await page.keyboard.press('Enter');
  await queue.getByRole('textbox').fill('Changed');
  await page.keyboard.press('Enter');
  await queue.getByRole('listitem').nth(0).focus();
  await page.keyboard.press('Delete');
  expect(await calls(page, 'chats.queue')).toEqual([
    { chatId: 'c1', clientId: 'q2', move: true, before: 'q1' },
    { chatId: 'c1', clientId: 'q1', text: 'Changed' },
    { chatId: 'c1', clientId: 'q1', remove: true },
  ]);
});

test('long output and long diffs are virtual, and their height does not change when they come into sight', async ({ page }) => {
  await open(page, served.url, 'chat', 'text=Rows and notices', { width: 1500, height: 1240 });
  const more = page.getByRole('button', { name: 'Show all' });
  for (let i = await more.count(); i > 0; i--) await more.first().click();
  await drawn(page);
  expect(await page.locator('.ln').count()).toBeLessThan(80);
  expect(await page.locator('.diff .l').count()).toBeLessThan(120);
});

const LOOKS: [page: string, ready: string][] = [
  ['chat', 'text=Rows and notices'],
  ['done', '[data-turn-end="2"]'],
  ['failed', '[data-end="failed"]'],
  ['question', '[data-approval]'],
  ['planned', '[data-approval]'],
  ['elsewhere', '[data-approval]'],
  ['nested', '[data-entry="sa"]'],
  ['untrusted', '[data-trust="untrusted"]'],
  ['stuck', '[data-stop="shared"]'],
];

for (const theme of ['light', 'dark'])
  for (const [name, ready] of LOOKS)
    test(`${name}, ${theme}`, async ({ page }) => {
      const errors: string[] = [];
      page.on('pageerror', (e) => errors.push(String(e)));
      await open(page, served.url, name, ready, { theme, ...(name === 'chat' ? { width: 1500, height: 1240 } : {}) });
      await page.mouse.move(5, 5);
      await wait(page, 600);
      await page.screenshot({ path: `test-results/gallery/${name}-${theme}.png` });
      expect(await violations(page)).toEqual([]);
      expect(errors).toEqual([]);
    });

for (const [name, ready] of LOOKS.filter(([name]) => ['chat', 'done', 'failed', 'question', 'planned', 'stuck'].includes(name)))
  test(`${name} at 320 px and at 200 % needs no scrolling to the side`, async ({ page }) => {
    for (const more of [{ width: 320, height: 640 }, { query: '&zoom=200' }]) {
      await open(page, served.url, name, ready, more);
      await wait(page, 300);
      const wide = await page.evaluate(() => {
        const limit = document.documentElement.clientWidth;
        const inside = (el: Element) => !!el.closest('pre, .cmd, .diff, .diffbox, .xterm, [role="tablist"], table, .sr, .tip, .out');
        return [...document.querySelectorAll('button, input, textarea, b, p, li, .notice, [data-row]')]
          .filter((el) => {
            const r = el.getBoundingClientRect();
            return r.width > 0 && r.height > 0 && (r.right > limit + 1 || r.left < -1) && !inside(el);
          })
          .map((el) => `${el.tagName} ${(el.getAttribute('aria-label') ?? el.textContent ?? '').trim().slice(0, 40)} ${Math.round(el.getBoundingClientRect().right)}`);
      });
      expect(wide, `${name} ${JSON.stringify(more)}`).toEqual([]);
    }
  });

test('in forced colours and with reduced motion a card and its choice keep their outline, and nothing turns', async ({ page }) => {
  await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
  await open(page, served.url, 'question', '[data-approval]');
  await expect(page.getByRole('radio').first()).toBeEnabled();
  await page.getByRole('radio').first().click();
  const look = await page.evaluate(() => {
    const card = document.querySelector('[data-approval]')!;
    const on = document.querySelector('[role="radio"][aria-checked="true"]')!;
    const s = getComputedStyle(on);
    return { card: parseFloat(getComputedStyle(card).borderTopWidth) > 0, on: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0, turns: [...document.querySelectorAll('.g')].filter((g) => getComputedStyle(g).transform !== 'none').length };
  });
  expect(look).toEqual({ card: true, on: true, turns: 0 });
});
