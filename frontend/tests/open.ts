import type { Page } from '@playwright/test';
import { AxeBuilder } from './axe';

/** What the gallery's host in memory offers to a test. */
export interface FakeHost {
  publish(topic: string, type: string, data?: unknown): void;
  calls: { method: string; params: Record<string, unknown> }[];
  topic(name: string): { value: unknown };
  on(method: string, handler: (params: never) => unknown): void;
}

declare global {
  // eslint-disable-next-line no-var
  var fakeHost: FakeHost;
}

/** Shows a page of the gallery and waits until it is there. */
export async function open(page: Page, url: string, name: string, ready: string, more: { theme?: string; width?: number; height?: number; query?: string } = {}): Promise<void> {
  await page.setViewportSize({ width: more.width ?? 1280, height: more.height ?? 800 });
  await page.goto(`${url}/gallery.html?page=${name}&theme=${more.theme ?? 'light'}${more.query ?? ''}`);
  await page.locator(ready).first().waitFor();
  await page.evaluate(() => document.fonts.ready);
  await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
}

/** What axe finds, one line each. */
export async function violations(page: Page): Promise<string[]> {
  const found = await new AxeBuilder(page).analyze();
  return found
    .map((v) => ({ ...v, nodes: v.id === 'label-content-name-mismatch' ? v.nodes.filter((n) => !/role="(treeitem|option)"|class="rc /.test(n.html)) : v.nodes }))
    .filter((v) => v.nodes.length)
    .map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`);
}

/** The calls of one method that reached the host. */
export const calls = (page: Page, method: string) => page.evaluate((m) => globalThis.fakeHost.calls.filter((c) => c.method === m).map((c) => c.params), method);

/** Something the host tells, as it would come over the wire. */
export const publish = (page: Page, topic: string, type: string, data: unknown) => page.evaluate(([t, k, d]) => globalThis.fakeHost.publish(t as string, k as string, d), [topic, type, data]);

/** Two frames: what was published is drawn. */
export const drawn = (page: Page) => page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r)))));
