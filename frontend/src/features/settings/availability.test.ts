import { describe, expect, it } from 'vitest';
import { fakeHarness } from '../../lib/fake/samples';
import { availability } from './availability';

describe('what a harness needs', () => {
  it.each([
    [{}, ['Ready', '', '']],
    [{ enabled: false }, ['Off', '', '']],
    [{ availability: { available: false, reason: 'not_signed_in', detail: 'gemini auth login' } }, ['Not signed in', 'Chats cannot start until you are signed in', 'gemini auth login']],
    [{ availability: { available: false, reason: 'too_old', version: '1.0.9', neededVersion: '1.2.0', detail: 'npm i -g x' } }, ['Too old', '1.0.9 has no structured mode, chats need 1.2.0', 'npm i -g x']],
    [{ availability: { available: false, reason: 'not_installed', detail: 'npm i -g x' } }, ['Not installed', 'To install it', 'npm i -g x']],
    [{ sourceState: 'failed', sourceError: 'no permission' }, ['Failed', 'no permission', '']],
  ] as const)('%j', (more, want) => {
    const a = availability(fakeHarness('x', 'X', 'XX', more as never));
    expect([a.word, a.text, a.fix]).toEqual(want);
  });
});
