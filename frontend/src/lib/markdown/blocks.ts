import { marked, type Token, type Tokens } from 'marked';

/**
 * Streaming markdown. The text is cut into top-level blocks; a block that is
 * followed by another one is finished and keeps its key and HTML for good, so
 * that only the last block is parsed and drawn again while text arrives.
 */
export interface Block {
  /** Same content at the same place has the same key. */
  key: string;
  kind: 'html' | 'code';
  /** kind html: the source; it is rendered and sanitised by the component. */
  source: string;
  /** kind code */
  lang?: string;
  code?: string;
  /** A fence that is not closed yet. */
  open?: boolean;
}

/** FNV-1a over UTF-16 units; with the length it tells apart the blocks of one text. */
export function hash(text: string): string {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    h ^= text.charCodeAt(i);
    h = Math.imul(h, 0x01000193);
  }
  return `${(h >>> 0).toString(36)}.${text.length}`;
}

function toBlock(token: Token): Omit<Block, 'key'> | null {
  if (token.type === 'space' || token.type === 'def') return null;
  if (token.type === 'code') {
    const t = token as Tokens.Code;
    const fenced = /^ {0,3}(`{3,}|~{3,})/.exec(t.raw);
    const open = fenced !== null && !new RegExp(`\\n {0,3}\\${fenced[1]![0]}{${fenced[1]!.length},}\\s*$`).test(t.raw);
    const lang = (t.lang ?? '').trim().split(/\s/)[0]!.toLowerCase();
    return { kind: 'code', source: t.raw, lang, code: t.text, open };
  }
  return { kind: 'html', source: token.raw };
}

export class BlockSplitter {
  private text = '';
  private done: Block[] = [];
  private doneLength = 0;
  private seen = new Map<string, number>();
  private doneSeen = new Map<string, number>();
  /** Tokens read by the lexer so far: what a test counts. */
  lexed = 0;

  /** The blocks of text. Cheap when it grew at its end. */
  update(text: string): Block[] {
    if (!text.startsWith(this.text.slice(0, this.doneLength)) || text.length < this.doneLength) this.reset();
    this.text = text;
    const tokens = marked.lexer(text.slice(this.doneLength));
    this.lexed += tokens.length;
    let last = tokens.length - 1;
    while (last >= 0 && tokens[last]!.type === 'space') last--;
    this.seen = new Map(this.doneSeen);
    const tail: Block[] = [];
    tokens.forEach((token, i) => {
      const finished = i < last;
      if (finished) this.doneLength += token.raw.length;
      const b = toBlock(token);
      if (!b) return;
      // A growing block keeps its key by its place; a finished one by its content.
      const block = { ...b, key: this.key(finished ? hash(b.source) : `tail${this.done.length}`) };
      if (finished) {
        this.done = [...this.done, block];
        this.doneSeen = new Map(this.seen);
      } else tail.push(block);
    });
    return tail.length ? [...this.done, ...tail] : this.done;
  }

  private reset(): void {
    this.done = [];
    this.doneLength = 0;
    this.doneSeen = new Map();
  }

  private key(base: string): string {
    const n = this.seen.get(base) ?? 0;
    this.seen.set(base, n + 1);
    return n ? `${base}#${n}` : base;
  }
}
