import { expect, test, type Page } from '@playwright/test';
import { serve, type Served } from './serve';

/** What a person may set: a narrow window, 200 % zoom, wider text, no motion, forced colours. */

const PAGES: [page: string, ready: string][] = [
  ['window', '[data-approval][data-armed="true"]'],
  ['working', '[data-chat]'],
  ['mirror', '[data-owner="mirror"]'],
  ['takeover', '[role="alertdialog"]'],
  ['continue', '[role="alertdialog"] [role="radio"]'],
  ['newchat', 'dialog'],
  ['trust', 'text=PreToolUse'],
  ['inbox', '[data-view="inbox"]'],
  ['settings', '[data-harness="gemini"]'],
  ['general', 'text=Font of chats'],
  ['welcome', '[data-view="welcome"]'],
  ['palette', 'dialog.pal'],
];

let served: Served;
test.beforeAll(async () => {
  served = await serve('dist-gallery');
});
test.afterAll(() => served.close());

async function show(page: Page, name: string, ready: string, more = '') {
  await page.goto(`${served.url}/gallery.html?page=${name}&theme=light${more}`);
  await page.locator(ready).first().waitFor();
  await page.evaluate(() => new Promise((r) => setTimeout(r, 600)));
}

/** Everything that sticks out of the window to the side and cannot be scrolled to inside its own box. */
const outside = (page: Page) =>
  page.evaluate(() => {
    const wide = document.documentElement.clientWidth;
    const reachable = (el: Element): boolean => {
      for (let p = el.parentElement; p; p = p.parentElement) {
        const s = getComputedStyle(p);
        const r = p.getBoundingClientRect();
        // Only what is two-dimensional by nature may scroll to the side: code, tables, a terminal, a strip of tabs.
        if (r.right <= wide + 1 && (s.overflowX === 'auto' || s.overflowX === 'scroll') && p.matches('pre, .cmd, .diff, .diffbox, .xterm, .xterm *, [role="tablist"], [class*="table"]')) return true;
      }
      return false;
    };
    return [...document.querySelectorAll('button, input, textarea, select, [role="switch"], b, h1, h2, p, label, li')]
      .filter((el) => {
        const r = el.getBoundingClientRect();
        return r.width > 0 && r.height > 0 && !el.closest('.sr, .sprite, .tip') && (r.right > wide + 1 || r.left < -1) && !reachable(el);
      })
      .map((el) => `${el.tagName} ${(el.getAttribute('aria-label') ?? el.textContent ?? '').trim().slice(0, 40)} right=${Math.round(el.getBoundingClientRect().right)}`);
  });

/** Controls whose words are cut off without being able to say the rest. */
const clipped = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('button, .btn, .tag, [role="tab"], label, h1, h2, dialog, dialog p, dialog div')]
      .filter((el) => el.offsetParent && !el.closest('.sr, .tip, .xterm'))
      .filter((el) => {
        const s = getComputedStyle(el);
        if (s.overflowY === 'auto' || s.overflowY === 'scroll' || s.overflowY === 'visible') return false;
        return el.scrollHeight > el.clientHeight + 2 && el.clientHeight > 0;
      })
      .map((el) => `${el.tagName}.${el.className} ${(el.textContent ?? '').trim().slice(0, 40)} ${el.scrollHeight}>${el.clientHeight}`),
  );

for (const [name, ready] of PAGES) {
  test(`${name} at 320 px needs no scrolling to the side`, async ({ page }) => {
    await page.setViewportSize({ width: 320, height: 640 });
    await show(page, name, ready);
    await page.screenshot({ path: `test-results/gallery/${name}-320.png` });
    expect(await outside(page)).toEqual([]);
  });

  test(`${name} at 200 % needs no scrolling to the side`, async ({ page }) => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await show(page, name, ready, '&zoom=200');
    await page.screenshot({ path: `test-results/gallery/${name}-200.png` });
    expect(await outside(page)).toEqual([]);
  });

  test(`${name} with wider text clips nothing`, async ({ page }) => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await show(page, name, ready);
    await page.addStyleTag({ content: '* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; } p { margin-bottom: 2em !important; }' });
    await page.evaluate(() => new Promise((r) => setTimeout(r, 200)));
    await page.screenshot({ path: `test-results/gallery/${name}-spacing.png` });
    expect(await outside(page)).toEqual([]);
    expect(await clipped(page)).toEqual([]);
  });
}

for (const name of ['window', 'general', 'states', 'takeover'])
  test(`${name} in forced colours keeps shape, outline and word`, async ({ page }) => {
    await page.emulateMedia({ forcedColors: 'active' });
    await page.setViewportSize({ width: 1280, height: 800 });
    await show(page, name, name === 'states' ? 'text=State grammar' : PAGES.find(([p]) => p === name)![1]);
    await page.screenshot({ path: `test-results/gallery/${name}-forced.png` });
    // A chosen thing is told by more than a background, which is taken away here.
    const bare = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>('[role="switch"], [aria-selected="true"], [role="radio"][aria-checked="true"]')]
        .filter((el) => el.offsetParent)
        .filter((el) => {
          const all = [el, ...el.querySelectorAll<HTMLElement>('*')];
          return !all.some((x) => parseFloat(getComputedStyle(x).borderTopWidth) > 0 || (getComputedStyle(x).outlineStyle !== 'none' && parseFloat(getComputedStyle(x).outlineWidth) > 0) || getComputedStyle(x).forcedColorAdjust === 'none');
        })
        .map((el) => `${el.getAttribute('role')} ${(el.getAttribute('aria-label') ?? el.textContent ?? '').trim().slice(0, 40)}`),
    );
    expect(bare).toEqual([]);
  });

test('with reduced motion nothing moves', async ({ page }) => {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await show(page, 'takeover', '[role="alertdialog"]');
  const moving = await page.evaluate(() => [...document.querySelectorAll('*')].filter((el) => {
    const s = getComputedStyle(el);
    const seconds = (v: string) => Math.max(...v.split(',').map((x) => parseFloat(x) * (x.trim().endsWith('ms') ? 0.001 : 1)));
    return seconds(s.transitionDuration) > 0 || (s.animationName !== 'none' && seconds(s.animationDuration) > 0) || (el.classList.contains('g') && s.transform !== 'none');
  }).map((el) => el.outerHTML.slice(0, 80)));
  expect(moving).toEqual([]);
  await page.screenshot({ path: 'test-results/gallery/reduced-motion.png' });
});
