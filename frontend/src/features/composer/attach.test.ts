import { expect, it } from 'vitest';
import { base64, fromBase64, isLong, LONG_CHARS, LONG_LINES, MAX_IMAGE, pastedName, refusal } from './attach';

it('carries any bytes', async () => {
  const data = Uint8Array.from({ length: 70_000 }, (_, i) => i % 256);
  expect(fromBase64(await base64(new Blob([data])))).toEqual(data);
});

it('says what is too large before it is sent', () => {
  expect(refusal('a.png', MAX_IMAGE + 1, true)).toBe('a.png is 5.0 MB, at most 5.0 MB can be attached');
  expect(refusal('a.zip', MAX_IMAGE + 1, false)).toBe('');
  expect(refusal('none', 0, false)).toBe('none is empty');
});

it('knows a long text', () => {
  expect(isLong('x'.repeat(LONG_CHARS))).toBe(false);
  expect(isLong('x'.repeat(LONG_CHARS + 1))).toBe(true);
  expect(isLong('x\n'.repeat(LONG_LINES - 1))).toBe(false);
  expect(isLong('x\n'.repeat(LONG_LINES))).toBe(true);
  expect(pastedName('a\nb')).toBe('Pasted text, 2 lines.txt');
});
