import type { Error as WireError, Issue } from './types.gen';

/** What a failed call answers with: a stable code, a text for a person, and the command that fixes it. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly fix?: string,
    readonly issues?: Issue[],
  ) {
    super(message);
  }
}

/** The connection was lost before the answer: whether the call ran is unknown. */
export const DISCONNECTED = 'disconnected';

export function fromWire(error: { message?: string; data?: Partial<WireError> }): ApiError {
  const d = error.data ?? {};
  return new ApiError(d.code ?? 'internal', d.message ?? error.message ?? 'The host gave no reason', d.fix, d.issues);
}

export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
