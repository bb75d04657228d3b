import { svelte } from '@sveltejs/vite-plugin-svelte';
import tailwind from '@tailwindcss/vite';
import { defineConfig } from 'vitest/config';

// CARREL_DEV names a running server for `npm run dev`, CARREL_DEV_KEY an API key of it: the page has no session there.
const server = process.env.CARREL_DEV ?? 'http://127.0.0.1:8080';
const key = process.env.CARREL_DEV_KEY;

export default defineConfig({
  // Addresses are relative: the server puts the path of its base URL before them.
  base: './',
  plugins: [tailwind(), svelte()],
  build: {
    target: 'es2022',
    // A data: URL would need a wider policy, and so would the polyfill's inline script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  resolve: process.env.VITEST ? { conditions: ['browser'] } : undefined,
  server: { proxy: { '/api': { target: server, headers: key ? { Authorization: `Bearer ${key}` } : {} } } },
  test: { environment: 'node', include: ['src/**/*.test.ts'] },
});
