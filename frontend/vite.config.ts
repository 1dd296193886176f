import { readFileSync } from 'node:fs';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

const { version } = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8'));

// The window is one page; `--mode gallery` builds the component gallery beside
// it, so that nothing of it ships. public/.keep brings back dist/.keep, which
// the Go embed of a clean clone needs.
export default defineConfig(({ mode }) => {
  const gallery = mode === 'gallery';
  return {
    base: './',
    plugins: [svelte()],
    define: { __APP_VERSION__: JSON.stringify(version) },
    resolve: process.env.VITEST ? { conditions: ['browser'] } : undefined,
    build: {
      target: 'safari16',
      outDir: gallery ? 'dist-gallery' : 'dist',
      emptyOutDir: true,
      modulePreload: { polyfill: false },
      // Nothing is inlined: the content policy allows no data: scripts or fonts.
      assetsInlineLimit: 0,
      rollupOptions: { input: gallery ? 'gallery.html' : 'index.html' },
    },
    worker: { format: 'es' },
    test: {
      environment: 'node',
      include: ['src/**/*.test.ts'],
    },
  };
});
