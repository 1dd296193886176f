import type { Client } from '../../lib/api/client';
import { reason } from '../../lib/api/errors';
import type { Attachment } from '../../lib/api/types.gen';
import { base64, fromBase64, MAX_AT_ONCE, pastedName, refusal } from './attach';

/** What is being added to a message: the host keeps it before it can be sent, so that a draft survives. */
export class Attaching {
  problem = $state('');
  /** Names of what is on its way to the host. */
  pending = $state.raw<readonly string[]>([]);

  constructor(
    private readonly client: Client,
    private readonly chatId: string,
    private readonly list: () => readonly Attachment[],
    private readonly set: (list: Attachment[]) => void,
  ) {}

  async files(files: Iterable<File>): Promise<void> {
    this.problem = '';
    for (const f of files) {
      const image = f.type.startsWith('image/');
      const name = f.name || (image ? 'image.png' : 'file');
      const why = refusal(name, f.size, image);
      if (why) this.problem = why;
      else await this.keep(name, async () => ({ name, mime: f.type || undefined, bytes: await base64(f) }));
    }
  }

  async text(text: string): Promise<void> {
    this.problem = '';
    const name = pastedName(text);
    await this.keep(name, async () => ({ name, mime: 'text/plain', bytes: await base64(new Blob([text])) }));
  }

  async paths(paths: Iterable<string>): Promise<void> {
    this.problem = '';
    for (const path of paths) {
      const name = path.slice(path.lastIndexOf('/') + 1);
      await this.keep(name, async () => ({ name, path }));
    }
  }

  private async keep(name: string, make: () => Promise<{ name: string; mime?: string; bytes?: string; path?: string }>): Promise<void> {
    if (this.list().length + this.pending.length >= MAX_AT_ONCE) {
      this.problem = `At most ${MAX_AT_ONCE} files go with one message`;
      return;
    }
    this.pending = [...this.pending, name];
    try {
      const { attachment } = await this.client.call('attachments.add', { chatId: this.chatId, ...(await make()) });
      if (!this.list().some((a) => a.path === attachment.path)) this.set([...this.list(), attachment]);
    } catch (e) {
      this.problem = reason(e);
    } finally {
      const at = this.pending.indexOf(name);
      this.pending = this.pending.filter((_, i) => i !== at);
    }
  }

  remove(a: Attachment): void {
    this.problem = '';
    this.set(this.list().filter((x) => x.path !== a.path));
  }
}

/** The content of what the host keeps. */
export async function readAttachment(client: Client, chatId: string, a: Attachment): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  do {
    const r = await client.call('attachments.read', { chatId, id: a.id ?? '', offset });
    parts.push(fromBase64(r.bytes ?? ''));
    offset = r.next ?? 0;
  } while (offset);
  return new Blob(parts, { type: a.mime });
}
