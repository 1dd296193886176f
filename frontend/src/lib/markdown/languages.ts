/** What the worker can colour; grammars.ts has the same names (tested). */
export const LANGUAGES: ReadonlySet<string> = new Set([
  'bash', 'c', 'cpp', 'csharp', 'css', 'diff', 'dockerfile', 'go', 'ini', 'java', 'javascript', 'json', 'kotlin', 'makefile', 'markdown', 'php', 'python', 'ruby', 'rust', 'sql', 'swift', 'typescript', 'xml', 'yaml',
]);

/** File endings and short names of those languages. */
export const EXTENSIONS: Record<string, string> = {
  js: 'javascript', mjs: 'javascript', cjs: 'javascript', jsx: 'javascript', ts: 'typescript', tsx: 'typescript', py: 'python', rb: 'ruby', rs: 'rust',
  sh: 'bash', zsh: 'bash', shell: 'bash', console: 'bash', jsonc: 'json', htm: 'xml', 'c++': 'cpp', h: 'c', cc: 'cpp', hpp: 'cpp', cs: 'csharp', kt: 'kotlin', md: 'markdown', yml: 'yaml', toml: 'ini', html: 'xml', svelte: 'xml', vue: 'xml', svg: 'xml',
};
