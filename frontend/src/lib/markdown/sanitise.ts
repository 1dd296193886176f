import createDOMPurify, { type Config, type DOMPurify } from 'dompurify';
import { marked } from 'marked';
import { outsideURL } from '../api/outside';
import { visible } from '../text/visible';

/**
 * Text of agents and repositories becomes HTML only here (case X01: nothing
 * executes and nothing covers our controls; X02: showing text asks nobody).
 * No style, form, input, svg, media or frame survives; no element keeps an
 * address. A link is a span with its address in data-link that the window opens
 * outside after a click, with its host beside it; an image is such a link.
 */
const CONFIG: Config = {
  ALLOWED_TAGS: [
    'p', 'br', 'hr', 'strong', 'b', 'em', 'i', 'del', 's', 'code', 'pre', 'kbd', 'sub', 'sup', 'blockquote',
    'ul', 'ol', 'li', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'a', 'img',
  ],
  ALLOWED_ATTR: ['href', 'src', 'alt', 'align', 'start'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  FORBID_CONTENTS: ['style', 'script', 'title', 'svg', 'math', 'template', 'noscript', 'iframe', 'object', 'textarea', 'select', 'button'],
  SANITIZE_NAMED_PROPS: true,
  RETURN_DOM_FRAGMENT: true,
};

let purify: DOMPurify | undefined;
/** No page: nothing in it is fetched or run. */
let inert: Document | undefined;

function sameHost(text: string, url: URL): boolean {
  const shown = text.trim();
  if (shown === url.href || shown === url.host) return true;
  return outsideURL(shown)?.host === url.host && url.host !== '';
}

function link(doc: Document, url: URL, label: Node | string, text: string): Node {
  const a = doc.createElement('span');
  a.className = 'link';
  a.setAttribute('role', 'link');
  a.setAttribute('tabindex', '0');
  a.setAttribute('data-link', url.href);
  a.append(label);
  if (!sameHost(text, url)) {
    const host = doc.createElement('span');
    host.className = 'link-host';
    host.textContent = ` (${url.host || url.pathname})`;
    a.append(host);
  }
  return a;
}

/** A path with a folder or a line, as agents write it between backticks: `src/a.go:12`. */
const PATH = /^(?:~\/|\.{1,2}\/|\/)?(?:[\w@+~-][\w.@+~-]*\/)*[\w@+~-][\w.@+~-]*\.[A-Za-z][\w]{0,9}(?::(\d{1,7})(?::\d{1,7})?)?$/;

export function pathIn(text: string): { path: string; line: number } | null {
  const m = text.length > 500 ? null : PATH.exec(text);
  if (!m) return null;
  const path = m[1] ? text.slice(0, text.indexOf(':')) : text;
  // One bare name may be a method or a package: only a folder or a line makes it a path.
  if (!m[1] && !path.includes('/')) return null;
  return { path, line: Number(m[1] ?? 0) };
}

/** Links and images become ours; the agent's elements with addresses go. */
function rewrite(root: DocumentFragment, files: boolean): void {
  const doc = root.ownerDocument;
  for (const img of root.querySelectorAll('img')) {
    const alt = visible(img.getAttribute('alt') ?? '').trim();
    const url = outsideURL(img.getAttribute('src') ?? '');
    const text = alt ? `Image: ${alt}` : 'Image';
    img.replaceWith(url ? link(doc, url, text, '') : doc.createTextNode(text));
  }
  for (const a of root.querySelectorAll('a')) {
    const url = outsideURL(a.getAttribute('href') ?? '');
    const inner = doc.createDocumentFragment();
    const text = a.textContent ?? '';
    inner.append(...a.childNodes);
    if (!url || inner.querySelector?.('[data-link]')) a.replaceWith(inner);
    else if (text.trim()) a.replaceWith(link(doc, url, inner, text));
    else a.replaceWith(link(doc, url, url.href, url.href));
  }
  for (const code of files ? root.querySelectorAll('code') : []) {
    const at = code.closest('pre, [data-link]') ? null : pathIn(code.textContent ?? '');
    if (!at) continue;
    code.setAttribute('data-file', at.path);
    code.setAttribute('data-line', String(at.line));
    code.setAttribute('role', 'link');
    code.setAttribute('tabindex', '0');
  }
}

/** The safe HTML of a piece of markdown. With files, paths between backticks are links that the window opens. */
export function renderMarkdown(source: string, files = false): string {
  const raw = marked.parse(source, { async: false, gfm: true, breaks: false }) as string;
  // Task list boxes are inputs in marked's HTML: as text they survive.
  const boxes = raw.replace(/<input [^>]*type="checkbox"[^>]*>/g, (m) => (m.includes('checked') ? '☑' : '☐'));
  purify ??= createDOMPurify(window);
  const fragment = purify.sanitize(boxes, CONFIG) as unknown as DocumentFragment;
  rewrite(fragment, files);
  inert ??= document.implementation.createHTMLDocument('');
  const box = inert.createElement('div');
  box.append(fragment);
  return box.innerHTML;
}

/** The newest pieces, so that a row that comes into sight again is not made anew: at most so many characters of source. */
const KEPT = 1_000_000;
const kept = new Map<string, string>();
let size = 0;

/** renderMarkdown for a piece that is finished. */
export function keptMarkdown(source: string, files = false): string {
  const key = (files ? 'f' : 't') + source;
  let html = kept.get(key);
  if (html !== undefined) {
    kept.delete(key);
    kept.set(key, html);
    return html;
  }
  html = renderMarkdown(source, files);
  kept.set(key, html);
  size += key.length;
  for (const [old] of kept) {
    if (size <= KEPT || old === key) break;
    kept.delete(old);
    size -= old.length;
  }
  return html;
}
