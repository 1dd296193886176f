import type { Note } from './notes';

let ready: Promise<unknown> | undefined;

/** For where the host shows no notifications itself (macOS, `whippletree web`). What cannot be shown is not worth an error. */
export function send(note: Note, open: (what: string) => void): void {
  const r = window.runtime;
  if (r?.SendNotification) {
    ready ??= r.InitializeNotifications?.() ?? Promise.resolve();
    void ready.then(() => r.SendNotification!({ id: note.id, title: note.title, body: note.body, data: { open: note.open } })).catch(() => {});
    return;
  }
  if (typeof Notification === 'undefined' || Notification.permission !== 'granted') return;
  const shown = new Notification(note.title, { body: note.body, tag: note.id });
  shown.onclick = () => {
    window.focus();
    open(note.open);
    shown.close();
  };
}

/** A browser asks once, after a press. */
export function mayNotify(): void {
  if (!window.runtime?.SendNotification && typeof Notification !== 'undefined' && Notification.permission === 'default') void Notification.requestPermission();
}
