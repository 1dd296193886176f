import { defineConfig } from '@playwright/test';

/** Debian's Chromium; the browser that Playwright would download is not needed. */
const chromium = {
  browserName: 'chromium' as const,
  viewport: { width: 1280, height: 800 },
  launchOptions: {
    executablePath: process.env.WHIPPLETREE_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--no-first-run'],
  },
};

export default defineConfig({
  // Generous: the machine may be shared, and a deadline is no measurement.
  timeout: 120_000,
  expect: { timeout: 20_000 },
  globalSetup: './tests/setup.ts',
  workers: 1,
  fullyParallel: false,
  forbidOnly: !!process.env.CI,
  // A test that needs its second try is printed as flaky.
  retries: process.env.CI ? 1 : 0,
  reporter: [['list']],
  outputDir: 'test-results',
  projects: [
    { name: 'gallery', testDir: 'tests', use: chromium },
    { name: 'host', testDir: '../e2e/browser', use: chromium },
  ],
});
