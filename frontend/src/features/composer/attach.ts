import { bytes, count } from '../../lib/text/format';

/** The host's limits, said before the bytes are sent. */
export const MAX_IMAGE = 5 * 1024 * 1024;
export const MAX_FILE = 16 * 1024 * 1024;
export const MAX_AT_ONCE = 20;

/** A pasted text above this becomes an attachment: it would push what is written out of sight. */
export const LONG_LINES = 200;
export const LONG_CHARS = 10_000;

export function isLong(text: string): boolean {
  if (text.length > LONG_CHARS) return true;
  let lines = 1;
  for (let i = text.indexOf('\n'); i >= 0 && lines <= LONG_LINES; i = text.indexOf('\n', i + 1)) lines++;
  return lines > LONG_LINES;
}

export const pastedName = (text: string) => `Pasted text, ${count(text.split('\n').length, 'line')}.txt`;

/** Why a file cannot be attached; '' when it can. */
export function refusal(name: string, size: number, image: boolean): string {
  const limit = image ? MAX_IMAGE : MAX_FILE;
  if (size > limit) return `${name} is ${bytes(size)}, at most ${bytes(limit)} can be attached`;
  if (size === 0) return `${name} is empty`;
  return '';
}

export async function base64(file: Blob): Promise<string> {
  const data = new Uint8Array(await file.arrayBuffer());
  let binary = '';
  for (let i = 0; i < data.length; i += 0x8000) binary += String.fromCharCode(...data.subarray(i, i + 0x8000));
  return btoa(binary);
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const data = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) data[i] = binary.charCodeAt(i);
  return data;
}
