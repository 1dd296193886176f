import hljs from 'highlight.js/lib/core';
import { grammars } from './grammars';
import { toLines } from './runs';

/** What is no program has no calls. */
const TEXTS = new Set(['css', 'diff', 'dockerfile', 'ini', 'json', 'makefile', 'markdown', 'xml', 'yaml']);

for (const [name, language] of Object.entries(grammars)) hljs.registerLanguage(name, language);

self.onmessage = (e: MessageEvent<{ id: number; lang: string; code: string }>) => {
  const { id, lang, code } = e.data;
  const known = hljs.getLanguage(lang) !== undefined;
  const lines = known ? toLines(hljs.highlight(code, { language: lang, ignoreIllegals: true }).value, !TEXTS.has(lang)) : null;
  self.postMessage({ id, lines });
};
