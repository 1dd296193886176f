import { expect, test, type Page } from '@playwright/test';
import { calls, drawn, open, publish } from './open';
import { serve, type Served } from './serve';

/** The rules of approval safety (DESIGN section 10), each by its number, in a whole window. */

let served: Served;
test.beforeAll(async () => {
  served = await serve('dist-gallery');
});
test.afterAll(() => served.close());

const card = (page: Page) => page.locator('[data-pane] [data-approval]');
const armed = (page: Page) => expect(card(page)).toHaveAttribute('data-armed', 'true');
const answers = (page: Page) => calls(page, 'approvals.answer');
const window_ = (page: Page, query = '') => open(page, served.url, 'window', '[data-approval]', { query });
const now = async (page: Page) => page.evaluate(() => (globalThis.fakeHost.topic('approvals').value as { at: number }[])[0]!);
const change = async (page: Page, more: object) => {
  const base = await now(page);
  await publish(page, 'chat:c1', 'approval', { ...base, ...more });
  await drawn(page);
};

test('rule 1: the options are the agent’s, in its order and words, each with its reach', async ({ page }) => {
  await window_(page);
  await armed(page);
  await expect(card(page).locator('.opt .lb')).toHaveText(['Yes', 'Yes, and don’t ask again for go test in payments-api', 'No, and tell Claude what to do instead']);
  await expect(card(page).locator('.opt .kind')).toHaveText(['once', 'always, saved', 'once']);
  await card(page).locator('.opt').nth(1).hover();
  await expect(page.locator('.tip.on')).toContainText('.claude/settings.local.json');
  // A rule of ours stands apart and is not one of them.
  await change(page, { remember: { project: '/home/me/src/payments-api', tool: 'Bash', pattern: 'x', optionId: 'y' } });
  await expect(card(page).locator('.opt')).toHaveCount(3);
  await expect(card(page).getByRole('checkbox')).not.toBeChecked();
});

test('rule 2: nothing is preselected, none is primary, none is green or red; Enter on the card does nothing', async ({ page }) => {
  await window_(page);
  await armed(page);
  const looks = await card(page).locator('.opt').evaluateAll((all) => all.map((o) => [getComputedStyle(o).backgroundColor, getComputedStyle(o.querySelector('.lb')!).color, getComputedStyle(o.querySelector('.lb')!).fontWeight].join()));
  expect(new Set(looks).size).toBe(1);
  await expect(card(page).locator('.primary, .chosen, [aria-checked="true"], :checked')).toHaveCount(0);
  await card(page).focus();
  for (const key of ['Enter', ' ', 'y']) await page.keyboard.press(key === ' ' ? 'Space' : key);
  await drawn(page);
  expect(await answers(page)).toEqual([]);
});

test('rule 3: for 500 ms after it appears, changes, or the window gets the focus it takes no key and no click', async ({ page }) => {
  await page.clock.install();
  await page.clock.pauseAt(new Date('2030-01-01T10:00:00'));
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(`${served.url}/gallery.html?page=window&theme=light`);
  // The page's own start needs a little of its clock.
  for (let i = 0; i < 40 && !(await card(page).count()); i++) await page.clock.runFor(20);
  const unarmed = async (why: string) => {
    await expect(card(page), why).toHaveAttribute('data-armed', 'false');
    await expect(card(page).locator('.opt kbd').first(), why).toBeHidden();
    await card(page).locator('.opt').first().click({ force: true });
    await card(page).focus();
    await page.keyboard.press('1');
    expect(await answers(page), why).toEqual([]);
  };
  const arm = async () => {
    await page.clock.runFor(600);
    await expect(card(page)).toHaveAttribute('data-armed', 'true');
    await expect(card(page).locator('.opt kbd').first()).toBeVisible();
  };
  const box = await card(page).boundingBox();
  await unarmed('it appeared');
  await arm();
  // Nothing moves when it is armed.
  expect(await card(page).boundingBox()).toEqual(box);
  await page.evaluate(() => window.dispatchEvent(new Event('focus')));
  await page.clock.runFor(20);
  await unarmed('the window got the focus');
  await arm();
  const base = await now(page);
  await publish(page, 'chat:c1', 'approval', { ...base, revision: 2, preview: { command: 'rm -rf /' } });
  await page.clock.runFor(60);
  await expect(card(page)).toContainText('rm -rf /');
  await unarmed('it changed');
  await arm();
});

test('rule 4: digits answer only while the card has the focus, and Tab enters at the refusing option', async ({ page }) => {
  await window_(page);
  await armed(page);
  // It came and took no focus.
  expect(await page.evaluate(() => !!document.activeElement?.closest('[data-approval]'))).toBe(false);
  for (const at of ['[data-region="timeline"]', 'body']) {
    await page.locator(at).first().evaluate((el) => (el as HTMLElement).focus?.());
    await page.keyboard.press('1');
  }
  await page.getByRole('textbox', { name: 'Message' }).focus();
  await page.keyboard.press('1');
  expect(await answers(page)).toEqual([]);
  await page.keyboard.press('Control+Shift+A');
  await expect(card(page)).toBeFocused();
  await page.keyboard.press('Tab');
  await expect(card(page).locator('.opt:focus')).toContainText('No, and tell Claude');
  await page.keyboard.press('Escape');
  await expect(page.getByRole('textbox', { name: 'Message' })).toBeFocused();
  await page.keyboard.press('Control+Shift+A');
  await page.keyboard.press('1');
  await expect.poll(() => answers(page)).toHaveLength(1);
  expect((await answers(page))[0]).toMatchObject({ approvalId: 'a1', revision: 1, answer: { optionId: 'y' } });
});

test('rule 5: above the options stands all that decides, and a changed request is a new card', async ({ page }) => {
  await window_(page);
  await armed(page);
  await expect(card(page).locator('.cmd')).toHaveText('go test -race -count=500 -run TestRetry ./upload/...');
  await expect(card(page)).toContainText('Runs in ~/src/payments-api');
  await expect(card(page)).toContainText('Confirm that the fix holds');
  // A long command, also one of a single line, must be read to its end before anything can be chosen.
  for (const [i, command] of [Array.from({ length: 34 }, (_, n) => `echo ${n}`).join('\n'), `echo ${'x '.repeat(2000)}`].entries()) {
    await change(page, { revision: 10 + i, preview: { command } });
    await expect(card(page)).toContainText('Read it to its end');
    await page.evaluate(() => new Promise((r) => setTimeout(r, 700)));
    await expect(card(page)).toHaveAttribute('data-armed', 'false');
    await card(page).locator('.opt').first().click({ force: true });
    await card(page).locator('.cmd').evaluate((el) => (el.scrollTop = el.scrollHeight));
    await armed(page);
  }
  expect(await answers(page)).toEqual([]);
  await change(page, { revision: 20, preview: { path: 'deploy/retry.yml', diff: '@@ -1 +1,2 @@\n a\n+b\n' } });
  await expect(card(page).getByRole('table')).toContainText('b');
  await expect(card(page)).toContainText('deploy/retry.yml');
});

test('rule 6: sending shows which option; unconfirmed is said, and never sent again by itself', async ({ page }) => {
  await window_(page);
  await armed(page);
  await change(page, { acknowledges: true, revision: 2 });
  await armed(page);
  await card(page).locator('.opt').first().click();
  const base = await now(page);
  const answer = { optionId: 'y', label: 'Yes', by: 'window', where: 'window', at: base.at };
  await publish(page, 'chat:c1', 'approval', { ...base, acknowledges: true, revision: 2, state: 'sent', answer });
  await expect(card(page)).toContainText('sending');
  await expect(card(page).locator('.opt').first()).toHaveClass(/chosen/);
  await card(page).locator('.opt').nth(2).click({ force: true });
  await publish(page, 'chat:c1', 'approval', { ...base, acknowledges: true, revision: 2, state: 'unconfirmed', answer });
  await expect(card(page)).toContainText('The answer did not arrive');
  await expect(card(page)).toContainText('did not confirm “Yes” within 10 s');
  expect(await answers(page)).toHaveLength(1);
  await card(page).getByRole('button', { name: 'Send “Yes” again' }).click();
  await expect.poll(() => answers(page)).toHaveLength(2);
  await publish(page, 'chat:c1', 'approval', { ...base, acknowledges: true, revision: 2, state: 'confirmed', answer });
  await expect(card(page)).toHaveCount(0);
});

test('rule 7: answered elsewhere, withdrawn and refused are said and become one line', async ({ page }) => {
  await window_(page);
  await armed(page);
  const base = await now(page);
  const past = page.locator('[data-approval-past]');
  await change(page, { refused: [{ who: 'cli', where: 'process 7 runs below the agent claude (process 5)', at: base.at }] });
  await expect(card(page)).toContainText('Refused: an agent tried to approve itself');
  await expect(card(page)).toContainText('Process 7 runs below the agent claude (process 5)');
  await expect(card(page).locator('.opt')).toHaveCount(3);
  await change(page, { state: 'answeredElsewhere', answer: { optionId: 'y', label: 'Yes', by: 'terminal', where: 'kitty', at: base.at } });
  await expect(card(page)).toHaveCount(0);
  await expect(past).toHaveCount(1);
  await expect(past).toContainText('Already answered: Yes');
  await expect(past).toContainText('in kitty');
  await publish(page, 'chat:c1', 'approval', { ...base, id: 'a2', state: 'withdrawn' });
  await expect(past.nth(1)).toContainText('The turn ended before anybody answered');
  // The first answer won; ours was not it, and nothing is pretended.
  await publish(page, 'chat:c1', 'approval', { ...base, id: 'a3' });
  await page.evaluate((c) => globalThis.fakeHost.on('approvals.answer', () => ({ won: false, card: { ...c, id: 'a3', state: 'answeredElsewhere', answer: { optionId: 'n', by: 'cli', where: 'xterm', at: 1 } } })), base as never);
  await armed(page);
  await card(page).locator('.opt').first().click();
  await expect(page.getByText('Already answered', { exact: true })).toBeVisible();
  await expect(page.getByText('Undo')).toHaveCount(0);
});

test('rule 8: skip is not cancel', async ({ page }) => {
  await open(page, served.url, 'question', '[data-approval]');
  await expect(card(page)).toContainText('Question 1 of 2');
  await expect(card(page).getByRole('button', { name: 'Skip' })).toBeEnabled();
  await card(page).getByRole('button', { name: 'Skip' }).click();
  await expect(card(page)).toContainText('Question 2 of 2');
  await card(page).getByRole('textbox').fill('Mind the ledger');
  await card(page).getByRole('button', { name: 'Answer', exact: true }).click();
  await expect.poll(() => answers(page)).toHaveLength(1);
  expect((await answers(page))[0]).toMatchObject({ answer: { optionId: 'y', answers: { q: { skipped: true }, r: { other: 'Mind the ledger' } } } });
  expect(await calls(page, 'chats.stop')).toEqual([]);
});

test('rule 8: a choice and a comment are one answer; “No” may say why', async ({ page }) => {
  await open(page, served.url, 'question', '[data-approval]');
  await expect(card(page).getByRole('radio').first()).toBeEnabled();
  await card(page).focus();
  await page.keyboard.press('2');
  await expect(card(page).getByRole('radio').nth(1)).toBeChecked();
  await card(page).getByRole('textbox').fill('but keep a view');
  await card(page).getByRole('button', { name: 'Next question' }).click();
  await card(page).getByRole('button', { name: 'Skip' }).click();
  await expect.poll(() => answers(page)).toHaveLength(1);
  expect((await answers(page))[0]).toMatchObject({ answer: { answers: { q: { optionIds: ['b'], other: 'but keep a view' } } } });
  await open(page, served.url, 'question', '[data-approval]');
  await expect(card(page).getByRole('button', { name: 'No', exact: true })).toBeEnabled();
  await card(page).getByRole('button', { name: 'No', exact: true }).click();
  await card(page).getByRole('textbox', { name: 'Comment for “No”' }).fill('Ask me tomorrow');
  await card(page).getByRole('button', { name: 'Send “No”' }).click();
  await expect.poll(() => answers(page)).toHaveLength(1);
  expect((await answers(page))[0]).toMatchObject({ answer: { optionId: 'n', comment: 'Ask me tomorrow' } });
});

test('rule 9: the automatic mode is a strip that cannot be hidden, with a count, what it answered, and its switch', async ({ page }) => {
  await window_(page);
  const base = await now(page);
  await page.evaluate(() => {
    const chat = globalThis.fakeHost.topic('chat:c1').value as object;
    globalThis.fakeHost.publish('chat:c1', 'chat', { ...chat, autoMode: { on: true, answers: 14, since: 1 }, silentSince: 0, stopping: null });
  });
  await publish(page, 'chat:c1', 'approval', { ...base, id: 'auto', state: 'confirmed', preview: { command: 'npm ci' }, answer: { optionId: 'y', by: 'auto', at: base.at } });
  const strip = page.locator('.auto');
  await expect(strip).toContainText('14 answers');
  await expect(strip.getByRole('button')).toHaveText(['Show', 'Turn off']);
  await strip.getByRole('button', { name: 'Show' }).click();
  await expect(page.locator('.auto + .list')).toContainText('npm ci');
  // What it answered is a line, said as what it was. A question, a plan or a choice is the host's to refuse (backend/chats).
  await expect(page.locator('[data-approval-past]')).toContainText('Allowed automatically');
  await page.evaluate(() => globalThis.fakeHost.on('chats.set', () => ({ chat: {} })));
  await strip.getByRole('button', { name: 'Turn off' }).click();
  expect(await calls(page, 'chats.set')).toMatchObject([{ name: 'autoMode', value: false }]);
});

test('rule 10: what cannot be answered here shows where it can, and no options', async ({ page }) => {
  await open(page, served.url, 'elsewhere', '[data-approval]');
  await expect(card(page)).toContainText('Waits in xterm');
  await expect(card(page).locator('.opt')).toHaveCount(0);
  await expect(card(page).getByRole('button', { name: 'Go to xterm' })).toBeEnabled();
  await card(page).focus();
  await page.keyboard.press('1');
  await drawn(page);
  expect(await answers(page)).toEqual([]);
});

test('rule 11: text of an agent cannot look like a card, nor cover the dock', async ({ page }) => {
  await window_(page);
  await armed(page);
  const fake = '<section class="ask" style="position:fixed;inset:0;z-index:999;background:#fdf2e0" data-approval="x"><button class="opt" onclick="alert(1)">Yes</button></section>\n\n<style>*{display:none}</style><div style="position:fixed;inset:0">over</div><img src=x onerror="alert(1)">\n\n**Run a command?** [Yes](javascript:alert(1)) <span style="color:#b35c00">◆</span>';
  await publish(page, 'chat:c1', 'row', { id: 'evil', type: 'text', at: 1, endedAt: 2, seq: 999, turn: 2, text: fake });
  await publish(page, 'chat:c1', 'row', { id: 'evil2', type: 'notice', level: 'warning', at: 1, seq: 1000, turn: 2, text: fake });
  await drawn(page);
  await expect(page.getByText('over').first()).toBeAttached();
  await expect(page.locator('[data-approval]')).toHaveCount(1);
  const evil = page.locator('[data-entry="evil"]');
  expect(await evil.evaluate((el) => [...el.querySelectorAll('.md *')].filter((x) => x.hasAttribute('style') || x.hasAttribute('class') && !/^(bl|link|link-host|caret)\b/.test(x.className.replace(/s-\S+|svelte-\S+/g, '').trim())).map((x) => x.outerHTML.slice(0, 80)))).toEqual([]);
  // Every point of the card belongs to the card.
  const covered = await card(page).evaluate((el) => {
    const r = el.getBoundingClientRect();
    const out: string[] = [];
    for (const fx of [0.1, 0.5, 0.9]) for (const fy of [0.1, 0.5, 0.9]) {
      const at = document.elementFromPoint(r.left + r.width * fx, r.top + r.height * fy);
      if (!el.contains(at)) out.push(at?.outerHTML.slice(0, 80) ?? 'nothing');
    }
    return out;
  });
  expect(covered).toEqual([]);
  // Amber heads are only in the dock.
  expect(await page.evaluate(() => {
    const probe = document.createElement('div');
    probe.style.background = 'var(--need-bg)';
    document.body.append(probe);
    const amber = getComputedStyle(probe).backgroundColor;
    probe.remove();
    return [...document.querySelectorAll('[data-region="timeline"] *')].filter((x) => getComputedStyle(x).backgroundColor === amber).length;
  })).toBe(0);
});

test('a rule of ours is made only with the option it belongs to', async ({ page }) => {
  await window_(page);
  await change(page, { revision: 2, remember: { project: '/home/me/src/payments-api', tool: 'Bash', pattern: 'x', optionId: 'y' } });
  await armed(page);
  const box = card(page).getByRole('checkbox');
  await box.check();
  await expect(card(page).locator('.opt').first()).toContainText('always in payments-api');
  await card(page).locator('.opt').nth(1).click();
  await expect.poll(() => answers(page)).toHaveLength(1);
  expect((await answers(page))[0]).not.toHaveProperty('remember');
  await change(page, { revision: 3, remember: { project: '/home/me/src/payments-api', tool: 'Bash', pattern: 'x', optionId: 'y' } });
  await expect(box).not.toBeChecked();
  await armed(page);
  await box.check();
  await card(page).locator('.opt').first().click();
  await expect.poll(() => answers(page)).toHaveLength(2);
  expect((await answers(page))[1]).toMatchObject({ remember: true, answer: { optionId: 'y' } });
});

test('a plan that was not accepted stays readable, and a rule can be revoked where it answered', async ({ page }) => {
  await window_(page);
  await armed(page);
  const base = await now(page);
  await publish(page, 'chat:c1', 'approval', { ...base, id: 'p', kind: 'plan', preview: undefined, plan: { text: '1. Label every field' }, state: 'confirmed', answer: { optionId: 'n', comment: 'Not twice', by: 'window', where: 'window', at: base.at } });
  const plan = page.locator('[data-approval-past="p"]');
  await expect(plan).toContainText('Plan not accepted');
  await expect(plan).toContainText('“Not twice”');
  await plan.getByRole('button', { name: 'Read the plan' }).click();
  await expect(plan).toContainText('Label every field');
  await publish(page, 'chat:c1', 'approval', { ...base, id: 'r', state: 'sent', answer: { optionId: 'y', by: 'rule', rule: 'r7', at: base.at } });
  const ruled = page.locator('[data-approval-past="r"]');
  await expect(ruled).toContainText('Allowed by a rule of this project');
  await page.evaluate(() => globalThis.fakeHost.on('approvals.revokeRule', () => ({ rules: [] })));
  await ruled.getByRole('button', { name: 'Revoke the rule' }).click();
  await expect(ruled).toContainText('Revoked');
  expect(await calls(page, 'approvals.revokeRule')).toMatchObject([{ id: 'r7' }]);
});

test('an approval is announced once, and nothing of a stream is', async ({ page }) => {
  await window_(page);
  const base = await now(page);
  await page.evaluate(() => {
    const said: string[] = [];
    (window as never as { said: string[] }).said = said;
    for (const el of document.querySelectorAll('[role="status"][aria-live]')) new MutationObserver(() => said.push(el.textContent ?? '')).observe(el, { childList: true, characterData: true, subtree: true });
  });
  await publish(page, 'approvals', 'upsert', { ...base, id: 'b', title: 'Run another?' });
  await publish(page, 'approvals', 'upsert', { ...base, id: 'b', title: 'Run another?', refused: [{ who: 'cli', where: 'x', at: 1 }] });
  await publish(page, 'chat:c1', 'row', { id: 's', type: 'text', at: 1, seq: 999, turn: 2, text: 'a', provisional: true });
  for (let i = 0; i < 50; i++) await publish(page, 'chat:c1', 'append', { id: 's', at: 1 + i, text: 'b' });
  await drawn(page);
  const said = await page.evaluate(() => (window as never as { said: string[] }).said);
  expect(said).toEqual(['Claude Code asks: Run another?']);
  // While a turn runs the log is busy: readers wait for its whole blocks.
  await expect(page.getByRole('log')).toHaveAttribute('aria-busy', 'true');
});
