// Measures a long chat in Chromium against the gallery's host in memory, and prints one line of JSON.
//
//   node bench/timeline.mjs <built gallery> <rows> <seconds of streaming>
//
// floor: the same frames of an empty page, so that a slow machine is seen as one.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { chromium } from '@playwright/test';

const [root, rows = '10000', seconds = '8'] = process.argv.slice(2);
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
const server = createServer((req, res) => {
  const path = normalize(new URL(req.url ?? '/', 'http://x').pathname);
  if (path === '/empty.html') return res.setHeader('Content-Type', 'text/html').end('<!doctype html><title>empty</title>');
  readFile(join(root, path)).then(
    (body) => res.setHeader('Content-Type', TYPES[extname(path)] ?? 'application/octet-stream').end(body),
    () => ((res.statusCode = 404), res.end()),
  );
});
await new Promise((r) => server.listen(0, '127.0.0.1', r));
const url = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({ executablePath: process.env.WHIPPLETREE_CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--enable-precise-memory-info', '--js-flags=--expose-gc'] });

/** Frames of the page while something runs: their p95 and those that were lost (more than 25 ms). */
const FRAMES = `(run) => new Promise(async (done) => {
  const at = [];
  let on = true;
  const tick = (t) => { at.push(t); if (on) requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
  await run();
  on = false;
  const gaps = at.slice(1).map((t, i) => t - at[i]).sort((a, b) => a - b);
  done({ frames: gaps.length, p95: gaps[Math.floor(gaps.length * 0.95)] ?? 0, max: gaps.at(-1) ?? 0, lost: gaps.reduce((n, g) => n + Math.max(0, Math.round(g / 16.67) - 1), 0) });
})`;
const SCROLL = `async () => { const el = document.querySelector('[role="log"]') ?? document.scrollingElement; for (let i = 0; i < 200; i++) { el.scrollTop -= 400; await new Promise((r) => requestAnimationFrame(r)); } }`;
const WAIT = (s) => `() => new Promise((r) => setTimeout(r, ${s} * 1000))`;
/** 2,000 pieces of 24 characters a second into the last row, a new row every 200. */
const STREAM = (s) => `() => new Promise((done) => {
  let seq = 1e6, id = '', at = 0, n = 0;
  const began = performance.now();
  const timer = setInterval(() => {
    const due = Math.floor((performance.now() - began) * 2);
    for (; n < due; n++) {
      if (n % 200 === 0) { id = 's' + n; at = 0; fakeHost.publish('chat:c1', 'row', { id, type: 'text', at: 1, seq: seq++, turn: 1e6, text: '', provisional: true }); }
      const text = n % 40 === 39 ? 'and a new one follows.\\n\\n' : 'some words of an answer ';
      fakeHost.publish('chat:c1', 'append', { id, at, text });
      at += text.length;
    }
    if (performance.now() - began > ${s} * 1000) { clearInterval(timer); done(); }
  }, 5);
})`;

const cpu = async (cdp) => Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map((m) => [m.name, m.value])).TaskDuration;

async function page(path) {
  const p = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const cdp = await p.context().newCDPSession(p);
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  await p.goto(`${url}/${path}`);
  return { p, cdp, run: (body) => p.evaluate(`(${FRAMES})(${body})`) };
}

const out = {};
{
  const { p, run } = await page('empty.html');
  out.floor = await run(WAIT(3));
  await p.close();
}
{
  const began = Date.now();
  const { p, cdp, run } = await page(`gallery.html?page=long&theme=light&rows=${rows}`);
  await p.waitForFunction(() => document.querySelectorAll('[data-entry]').length > 3);
  // How long the rows took, beside a chat of a hundred.
  out.open = Date.now() - began;
  out.nodes = await p.evaluate(() => document.querySelectorAll('[role="log"] *').length);
  await p.evaluate(() => globalThis.gc?.());
  out.heap = await p.evaluate(() => performance.memory.usedJSHeapSize / 1048576);
  out.scroll = await run(SCROLL);
  await p.evaluate(() => { const el = document.querySelector('[role="log"]'); el.dispatchEvent(new WheelEvent('wheel')); el.scrollTop = el.scrollHeight; });
  await p.evaluate(() => fakeHost.publish('chat:c1', 'turn', { turn: 1e6, origin: 'prompt', state: 'running', at: 1 }));
  const before = await cpu(cdp);
  out.stream = await run(STREAM(Number(seconds)));
  out.streamCpu = (await cpu(cdp)) - before;
  out.streamSeconds = Number(seconds);
  await p.evaluate(() => new Promise((r) => setTimeout(r, 500)));
  out.told = await p.evaluate(() => fakeHost.topic('chat:c1').seq);
  out.shown = await p.evaluate(() => document.querySelector('[data-entry^="s"]:last-of-type') !== null);
  await p.close();
}
{
  const began = Date.now();
  const { p } = await page('gallery.html?page=long&theme=light&rows=100');
  await p.waitForFunction(() => document.querySelectorAll('[data-entry]').length > 3);
  out.openFloor = Date.now() - began;
  await p.evaluate(() => globalThis.gc?.());
  out.heapFloor = await p.evaluate(() => performance.memory.usedJSHeapSize / 1048576);
  await p.close();
}
await browser.close();
server.close();
console.log(JSON.stringify(out));
