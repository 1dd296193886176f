import type { Client } from '../../lib/api/client';

export type Format = 'markdown' | 'json';

/**
 * Writes a chat out. In the window the shell asks where and writes the file; in a
 * browser it is a download. Resolves with where it is, '' when the person closed
 * the dialog.
 */
export async function exportChat(client: Client, chatId: string, format: Format): Promise<string> {
  const save = window.go?.main?.App?.SaveExport;
  if (save) return String((await save(chatId, format)) ?? '');
  const parts: string[] = [];
  let cursor: string | undefined;
  let name = '';
  let mime = '';
  do {
    const r = await client.call('chats.export', { chatId, format, cursor });
    parts.push(r.text);
    ({ name, mime } = r);
    cursor = r.next || undefined;
  } while (cursor);
  const url = URL.createObjectURL(new Blob(parts, { type: mime }));
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  // The download has its own hold on the data once it has begun.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  return name;
}
