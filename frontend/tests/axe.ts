import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from '@playwright/test';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export interface Violation {
  id: string;
  impact: string;
  nodes: { html: string; target: string[]; failureSummary?: string }[];
}

/** Runs axe in the page. The page's content policy forbids it, so it goes through the debugger. */
export class AxeBuilder {
  constructor(private readonly page: Page) {}

  async analyze(): Promise<Violation[]> {
    const session = await this.page.context().newCDPSession(this.page);
    await session.send('Runtime.evaluate', { expression: source });
    const r = await session.send('Runtime.evaluate', { expression: 'axe.run(document, { resultTypes: ["violations"] }).then((r) => JSON.stringify(r.violations))', awaitPromise: true, returnByValue: true });
    await session.detach();
    return JSON.parse(String(r.result.value)) as Violation[];
  }
}
