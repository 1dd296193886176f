import { describe, expect, it } from 'vitest';
import { grammars } from './grammars';
import { EXTENSIONS, LANGUAGES } from './languages';

describe('languages', () => {
  it('names exactly the grammars of the worker', () => {
    expect([...LANGUAGES].sort()).toEqual(Object.keys(grammars).sort());
  });
  it('leads every ending to one of them', () => {
    for (const name of Object.values(EXTENSIONS)) expect(LANGUAGES).toContain(name);
  });
});
