/** Arrow keys in a radiogroup of buttons: they choose, as in the system's own. */
export function radioKeys(e: KeyboardEvent): void {
  const by = e.key === 'ArrowRight' || e.key === 'ArrowDown' ? 1 : e.key === 'ArrowLeft' || e.key === 'ArrowUp' ? -1 : 0;
  if (!by || e.ctrlKey || e.metaKey || e.altKey) return;
  const group = (e.currentTarget as HTMLElement).closest('[role="radiogroup"]');
  const all = [...(group?.querySelectorAll<HTMLElement>('[role="radio"]:not(:disabled)') ?? [])];
  const next = all[(all.indexOf(e.currentTarget as HTMLElement) + by + all.length) % all.length];
  e.preventDefault();
  next?.focus();
  next?.click();
}
