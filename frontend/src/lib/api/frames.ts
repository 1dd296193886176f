/** Binary frames: kind u8, stream u32 (big endian), payload. Mirrors backend/api/frames.go. */

export const FRAME_OUTPUT = 1;
export const FRAME_INPUT = 2;
export const FRAME_ACK = 3;
export const FRAME_REPLAY = 4;
export const FRAME_REPLAY_END = 5;

export const FRAME_HEADER = 5;

export interface Frame {
  kind: number;
  stream: number;
  payload: Uint8Array;
}

export function encodeFrame(kind: number, stream: number, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(FRAME_HEADER + payload.length);
  out[0] = kind;
  new DataView(out.buffer).setUint32(1, stream);
  out.set(payload, FRAME_HEADER);
  return out;
}

/** Null when the bytes are too short to be a frame. */
export function decodeFrame(data: ArrayBuffer): Frame | null {
  if (data.byteLength < FRAME_HEADER) return null;
  const view = new DataView(data);
  return { kind: view.getUint8(0), stream: view.getUint32(1), payload: new Uint8Array(data, FRAME_HEADER) };
}

/** The payload of an acknowledgement: how many output and replay bytes were consumed so far. */
export function ackPayload(consumed: number): Uint8Array {
  const out = new Uint8Array(8);
  new DataView(out.buffer).setBigUint64(0, BigInt(consumed));
  return out;
}
