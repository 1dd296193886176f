import { describe, expect, it } from 'vitest';
import { BlockSplitter } from './blocks';

const TEXT = `# Title

A paragraph with **bold**
over two lines.

- one

- two
  - nested

\`\`\`go
func main() {

}
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

> quote

Same.

Same.

The end`;

describe('blocks of streamed markdown', () => {
  it('are the same however the text arrived', () => {
    const whole = new BlockSplitter().update(TEXT).map((b) => b.source.trim());
    for (const step of [1, 2, 3, 7, 50]) {
      const s = new BlockSplitter();
      let last: string[] = [];
      for (let i = step; i < TEXT.length + step; i += step) last = s.update(TEXT.slice(0, i)).map((b) => b.source.trim());
      expect(last).toEqual(whole);
    }
  });

  it('keep the key and the object of what is finished', () => {
    const s = new BlockSplitter();
    const cut = TEXT.indexOf('> quote');
    const before = s.update(TEXT.slice(0, cut));
    const after = s.update(TEXT);
    for (let i = 0; i < before.length - 1; i++) expect(after[i]).toBe(before[i]);
    expect(new Set(after.map((b) => b.key)).size).toBe(after.length);
  });

  it('read only the tail again', () => {
    const s = new BlockSplitter();
    let text = '';
    for (let i = 0; i < 200; i++) s.update((text += `Paragraph ${i}.\n\n`));
    expect(s.lexed).toBeLessThan(200 * 5);
  });

  it('know an open fence', () => {
    const s = new BlockSplitter();
    expect(s.update('```go\nfunc')[0]).toMatchObject({ kind: 'code', lang: 'go', open: true, code: 'func' });
    expect(s.update('```go\nfunc\n```')[0]).toMatchObject({ kind: 'code', open: false });
  });

  it('start anew when the text was replaced', () => {
    const s = new BlockSplitter();
    s.update('one\n\ntwo\n\nthree');
    expect(s.update('other\n\ntext').map((b) => b.source)).toEqual(['other', 'text']);
  });
});
