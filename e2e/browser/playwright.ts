// The front end's own Playwright: this folder has no packages of its own.
export { expect, test } from '../../frontend/node_modules/@playwright/test/index.mjs';
export type { Locator, Page } from '../../frontend/node_modules/@playwright/test/index.mjs';
