/** What leaves the window: links, the clipboard, native dialogs. In a browser the page does it itself. */

const app = () => window.go?.main?.App;

/** Only these are links at all; everything else is text. */
export function outsideURL(raw: string): URL | null {
  let url: URL;
  try {
    url = new URL(raw.trim());
  } catch {
    return null;
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:' && url.protocol !== 'mailto:') return null;
  if (url.username || url.password) return null;
  return url;
}

export function openOutside(raw: string): void {
  const url = outsideURL(raw);
  if (!url) return;
  const open = app()?.OpenURL;
  if (open) void open(url.href);
  else if (window.runtime?.BrowserOpenURL) window.runtime.BrowserOpenURL(url.href);
  else window.open(url.href, '_blank', 'noopener,noreferrer');
}

export async function copyText(text: string): Promise<boolean> {
  try {
    if (window.runtime?.ClipboardSetText) return await window.runtime.ClipboardSetText(text);
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export async function pasteText(): Promise<string> {
  try {
    if (window.runtime?.ClipboardGetText) return await window.runtime.ClipboardGetText();
    return await navigator.clipboard.readText();
  } catch {
    return '';
  }
}

/** The system's folder dialog, or undefined where there is none (a browser). */
export const pickFolder = (): ((start: string) => Promise<string>) | undefined => {
  const pick = app()?.PickFolder;
  return pick ? async (start) => String((await pick(start)) ?? '') : undefined;
};

/** The system's file dialog, or undefined where there is none (a browser). */
export const pickFiles = (): ((start: string) => Promise<string[]>) | undefined => {
  const pick = app()?.PickFiles;
  return pick ? async (start) => ((await pick(start)) as string[] | null) ?? [] : undefined;
};

export function showWindow(): void {
  void app()?.Show?.();
}
