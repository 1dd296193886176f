import { expect, it } from 'vitest';
import { attach, MAX_FILE } from './attach';

it('reads files whole, of any bytes, and names those that are too large', async () => {
  const data = Uint8Array.from({ length: 70_000 }, (_, i) => i % 256);
  const { files, problem } = await attach([new File([data], 'a.png', { type: 'image/png' }), new File(['hi'], 'n.txt', { type: 'text/plain' }), new File([new Uint8Array(MAX_FILE + 1)], 'big.bin')]);
  expect(files.map((f) => [f.kind, f.name, f.size])).toEqual([['image', 'a.png', 70_000], ['text', 'n.txt', 2]]);
  expect(Uint8Array.from(atob(files[0]!.bytes!), (c) => c.charCodeAt(0))).toEqual(data);
  expect(problem).toBe('big.bin is 5.0 MB, at most 5.0 MB can be attached');
});
