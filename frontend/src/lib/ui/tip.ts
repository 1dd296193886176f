import type { Attachment } from 'svelte/attachments';

/** One tooltip for the window: after 300 ms of hover, also on keyboard focus; Escape takes it away. */

let box: HTMLElement | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let owner: Element | undefined;

function hide(): void {
  clearTimeout(timer);
  owner = undefined;
  box?.classList.remove('on');
}

function show(el: Element, text: string): void {
  // Inside an open dialog the page's top layer is above everything else.
  const layer = el.closest('dialog') ?? document.body;
  if (!box) {
    box = document.createElement('div');
    box.className = 'tip';
    box.setAttribute('aria-hidden', 'true');
    document.addEventListener('keydown', (e) => e.key === 'Escape' && hide(), true);
    document.addEventListener('pointerdown', hide, true);
    document.addEventListener('scroll', hide, true);
  }
  if (box.parentNode !== layer) layer.append(box);
  box.textContent = text;
  owner = el;
  const r = el.getBoundingClientRect();
  const b = box.getBoundingClientRect();
  const x = Math.max(4, Math.min(r.left, innerWidth - b.width - 4));
  const below = r.bottom + 6 + b.height < innerHeight;
  box.style.transform = `translate(${Math.round(x)}px, ${Math.round(below ? r.bottom + 6 : Math.max(4, r.top - 6 - b.height))}px)`;
  box.classList.add('on');
}

/** The whole text of something that may be cut, or what a control does. */
export function tip(text: string | (() => string)): Attachment {
  return (el) => {
    const plan = (wait: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const t = typeof text === 'string' ? text : text();
        if (t && el.isConnected) show(el, t);
      }, wait);
    };
    const enter = () => plan(300);
    const focus = () => el.matches(':focus-visible') && plan(300);
    el.addEventListener('pointerenter', enter);
    el.addEventListener('pointerleave', hide);
    el.addEventListener('focus', focus);
    el.addEventListener('blur', hide);
    return () => {
      if (owner === el) hide();
      el.removeEventListener('pointerenter', enter);
      el.removeEventListener('pointerleave', hide);
      el.removeEventListener('focus', focus);
      el.removeEventListener('blur', hide);
    };
  };
}
