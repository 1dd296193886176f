// @vitest-environment jsdom
import { describe, expect, it } from 'vitest';
import { keptMarkdown, pathIn, renderMarkdown } from './sanitise';

function dom(source: string): HTMLElement {
  const div = document.createElement('div');
  div.innerHTML = renderMarkdown(source);
  return div;
}

const NO_ELEMENT = 'script, style, form, input, button, textarea, select, svg, math, iframe, object, embed, img, video, audio, source, link, meta, base, a, area, map, template, dialog, details';

describe('X01 active content in agent text', () => {
  it.each([
    '[a](javascript:alert(1))',
    '<img src=x onerror=alert(1)>',
    '<div style="position:fixed;inset:0">Approve</div>',
    '<form action=https://x.example><input name=a><button>Go</button></form>',
    '<a href="wails://x">x</a>',
    '<svg><animate onbegin=alert(1) attributeName=x dur=1s></svg>',
    '<iframe src="https://x.example"></iframe>',
    '<a href="&#106;avascript:alert(1)">x</a>',
    '<a href=" javascript:alert(1)" onclick="alert(1)">x</a>',
    '<math><mi xlink:href="javascript:alert(1)">x</mi></math>',
    '<p data-link="https://x.example" class="ask" id="app" tabindex=1>x</p>',
    '<dialog open>Approve</dialog>',
    '[file](file:///etc/passwd) [w](whippletree://x) [d](data:text/html,x) [r](/settings) [u](https://u:p@good.example)',
  ])('%s', (source) => {
    const d = dom(source);
    expect(d.querySelector(NO_ELEMENT)).toBeNull();
    for (const el of d.querySelectorAll('*')) {
      for (const a of el.attributes) expect(['align', 'start', 'class', 'role', 'tabindex', 'data-link'], el.outerHTML).toContain(a.name);
      if (el.hasAttribute('class')) expect(['link', 'link-host']).toContain(el.className);
    }
    expect(d.querySelector('[data-link]')).toBeNull();
  });

  it('shows the host of a link whose text says another one', () => {
    const d = dom('[https://good.example](https://bad.example/path)');
    expect(d.textContent).toContain('(bad.example)');
    expect(d.querySelector('.link')?.getAttribute('data-link')).toBe('https://bad.example/path');
  });

  it('repeats no host that the text already shows', () => {
    expect(dom('<https://good.example/a>').textContent?.trim()).toBe('https://good.example/a');
    expect(dom('[docs](https://good.example/a)').textContent?.trim()).toBe('docs (good.example)');
  });

  it('shows the real host of a look-alike', () => {
    expect(dom('[bank](https://b\u0430nk.example/)').textContent).toContain('(xn--');
  });
});

describe('X02 exfiltration by rendering', () => {
  it.each([
    '![p](http://127.0.0.1:9/p.png?q=SECRET)',
    '<img srcset="http://127.0.0.1:9/a 1x">',
    '<p style="background:url(http://127.0.0.1:9/b)">x</p>',
    '<link rel=prefetch href="http://127.0.0.1:9/c">',
    '<style>@import "http://127.0.0.1:9/d";</style>',
    '<video poster="http://127.0.0.1:9/e" src="http://127.0.0.1:9/f"></video>',
    '<table background="http://127.0.0.1:9/g"><tr><td>x</td></tr></table>',
    '```mermaid\ngraph TD; A-->B\n```',
  ])('%s', (source) => {
    const d = dom(source);
    expect(d.querySelector(NO_ELEMENT)).toBeNull();
    expect(d.querySelector('[src], [srcset], [style], [href], [background], [poster]')).toBeNull();
  });

  it('shows an image as a link with its host', () => {
    const d = dom('![a plan](https://img.example/p.png)');
    expect(d.textContent?.trim()).toBe('Image: a plan (img.example)');
  });
});

describe('ordinary markdown', () => {
  it('keeps its shape', () => {
    expect(renderMarkdown('**a** `b` ~~c~~')).toBe('<p><strong>a</strong> <code>b</code> <del>c</del></p>\n');
    expect(dom('- [x] done\n- [ ] open').textContent).toContain('☑ done');
    expect(dom('|a|b|\n|-|-:|\n|1|2|').querySelectorAll('td').length).toBe(2);
  });
});

describe('paths between backticks', () => {
  it.each([
    ['src/a.go', 'src/a.go', 0],
    ['src/a.go:12', 'src/a.go', 12],
    ['a.go:12:5', 'a.go', 12],
    ['/etc/hosts.d/x.conf', '/etc/hosts.d/x.conf', 0],
    ['~/notes/b.md', '~/notes/b.md', 0],
    ['../up/c_test.ts:7', '../up/c_test.ts', 7],
  ])('%s', (text, path, line) => expect(pathIn(text)).toEqual({ path, line }));
  it.each(['a.go', 'Foo.bar', 'go test ./x', 'https://a.b/c.html', 'a/b', '../../etc', '$(x)/a.go', 'a b/c.go', '-rf/a.go\n', 'x'.repeat(600) + '/a.go'])('%j is none', (text) => expect(pathIn(text)).toBeNull());
  it('are marked in text, not in blocks nor in links', () => {
    const box = document.createElement('div');
    box.innerHTML = renderMarkdown('`src/a.go:3`, [`src/b.go`](https://x.example)\n\n    src/c.go\n', true);
    expect([...box.querySelectorAll('[data-file]')].map((e) => [e.getAttribute('data-file'), e.getAttribute('data-line')])).toEqual([['src/a.go', '3']]);
  });
});

it('a finished piece is made once, and the oldest are forgotten', () => {
  const one = '**one** `src/a.go`';
  expect(keptMarkdown(one)).toBe(renderMarkdown(one));
  expect(keptMarkdown(one, true)).toBe(renderMarkdown(one, true));
  expect(keptMarkdown(one, true)).not.toBe(keptMarkdown(one));
  const big = 'x'.repeat(600_000);
  expect(keptMarkdown(big)).toContain('x');
  expect(keptMarkdown(`${big}y`)).toContain('y');
  expect(keptMarkdown(one)).toBe(renderMarkdown(one));
});
