import type { Attachment } from '../../lib/api/types.gen';
import { bytes } from '../../lib/text/format';

/** The host refuses larger ones. */
export const MAX_FILE = 5 * 1024 * 1024;

/** Files as attachments; those that are too large are left out and named. */
export async function attach(list: Iterable<File>): Promise<{ files: Attachment[]; problem: string }> {
  const files: Attachment[] = [];
  let problem = '';
  for (const f of list) {
    if (f.size > MAX_FILE) {
      problem = `${f.name} is ${bytes(f.size)}, at most ${bytes(MAX_FILE)} can be attached`;
      continue;
    }
    const data = new Uint8Array(await f.arrayBuffer());
    let binary = '';
    for (let i = 0; i < data.length; i += 0x8000) binary += String.fromCharCode(...data.subarray(i, i + 0x8000));
    const kind = f.type.startsWith('image/') ? 'image' : f.type.startsWith('text/') ? 'text' : 'file';
    files.push({ kind, name: f.name || 'image.png', mime: f.type || undefined, bytes: btoa(binary), size: f.size });
  }
  return { files, problem };
}
