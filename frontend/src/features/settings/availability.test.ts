import { describe, expect, it } from 'vitest';
import { fakeHarness } from '../../lib/fake/samples';
import { availability } from './availability';

describe('what a harness needs', () => {
  it.each([
    [{}, ['Ready', '', '']],
    [{ enabled: false }, ['Off', '', '']],
    [{ availability: { available: false, reason: 'not_signed_in', detail: 'Sign-in expired on 28 Nov: run `gemini auth login`' } }, ['Not signed in', 'Sign-in expired on 28 Nov', 'gemini auth login']],
    [{ availability: { available: false, reason: 'too_old', version: '1.0.9', neededVersion: '1.2.0' } }, ['Too old', '1.0.9 is too old, chats need 1.2.0', '']],
    [{ availability: { available: false, reason: 'not_installed', detail: 'Not found in PATH' } }, ['Not installed', 'Not found in PATH', '']],
    [{ sourceState: 'failed', sourceError: 'no permission' }, ['Failed', 'no permission', '']],
  ] as const)('%j', (more, want) => {
    const a = availability(fakeHarness('x', 'X', 'XX', more as never));
    expect([a.word, a.text, a.fix]).toEqual(want);
  });
});
