import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from './host';

/** Settings > Agents against the real host: how an agent is started, and one of one's own. */

test('an agent of one’s own is made, changed, refused with its path, and removed', async ({ page, host }) => {
  const file = () => JSON.parse(readFileSync(join(host.env.WHIPPLETREE_HOME!, 'settings.json'), 'utf8')) as { harnesses?: Record<string, unknown> };
  await page.goto(host.url);
  await page.getByRole('button', { name: /^Show (the window|my)/ }).click();
  await page.keyboard.press('Control+Shift+Comma');
  await page.getByRole('button', { name: 'Agents', exact: true }).click();
  await page.getByRole('button', { name: 'Own agent' }).click();
  const made = page.locator('[data-own]');
  await made.getByLabel(/^Made of/).selectOption('rehearsal');
  await made.getByLabel('Name', { exact: true }).fill('Second stage');
  await made.getByLabel(/^Environment/).fill('STAGE=2\nnot this');
  await made.getByRole('button', { name: 'Save' }).click();
  await expect(made.getByRole('alert')).toHaveText('Environment, line 2: NAME=VALUE is needed, not “not this”');
  await made.getByLabel(/^Environment/).fill('STAGE=2');
  await page.screenshot({ path: 'test-results/own-agent.png' });
  await made.getByRole('button', { name: 'Save' }).click();

  const row = page.locator('[data-harness="second-stage"]');
  await expect(row).toContainText('Second stage');
  await expect(row).toContainText('Ready');
  expect(file().harnesses?.['second-stage']).toEqual({ extends: 'rehearsal', label: 'Second stage', env: { STAGE: '2' } });

  await row.getByRole('button', { name: 'Details of Second stage' }).click();
  const form = page.getByRole('form', { name: 'How Second stage is started' });
  await form.getByLabel(/^File of secrets/).fill('/nowhere/secrets');
  await form.getByLabel(/^Arguments/).fill('x'.repeat(5000));
  await form.getByRole('button', { name: 'Save' }).click();
  // The host's own words, with the full path; nothing is lost.
  await expect(form.getByRole('alert')).toContainText('harnesses.second-stage.args');
  await expect(form.getByLabel(/^File of secrets/)).toHaveValue('/nowhere/secrets');
  await form.getByLabel(/^Arguments/).fill('');
  await form.getByLabel(/^File of secrets/).fill('');
  await form.getByLabel(/^Environment/).fill('STAGE=3');
  await form.getByRole('button', { name: 'Save' }).click();
  await expect.poll(() => file().harnesses?.['second-stage']).toEqual({ extends: 'rehearsal', label: 'Second stage', env: { STAGE: '3' } });

  // It is a choice for a new chat.
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+Shift+N');
  await expect(page.getByRole('dialog', { name: 'New chat' }).getByRole('radio', { name: /Second stage/ })).toBeVisible();
  await page.keyboard.press('Escape');

  await page.keyboard.press('Control+Shift+Comma');
  await form.getByRole('button', { name: 'Remove' }).or(row.getByRole('button', { name: 'Details of Second stage' })).first().click();
  const remove = page.getByRole('form', { name: 'How Second stage is started' }).getByRole('button', { name: 'Remove' });
  if (await remove.isVisible()) await remove.click();
  await expect(row).toBeHidden();
  expect(file().harnesses ?? {}).not.toHaveProperty('second-stage');
});
