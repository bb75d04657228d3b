import { svelte } from '@sveltejs/vite-plugin-svelte';
import tailwind from '@tailwindcss/vite';
import { defineConfig } from 'vitest/config';

// For `npm run dev`: CARREL_DEV is the address of a running server, CARREL_DEV_KEY an API key, because the page has no
// session there.
const server = process.env.CARREL_DEV ?? 'http://127.0.0.1:8080';
const key = process.env.CARREL_DEV_KEY;

export default defineConfig({
  // Relative URLs: the server adds the path of its base URL.
  base: './',
  plugins: [tailwind(), svelte()],
  build: {
    target: 'es2022',
    // The content security policy allows neither data: URLs nor the inline script of the polyfill.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // pdf.js is one chunk, loaded when a PDF is opened.
    chunkSizeWarningLimit: 600,
  },
  resolve: process.env.VITEST ? { conditions: ['browser'] } : undefined,
  server: { proxy: { '/api': { target: server, headers: key ? { Authorization: `Bearer ${key}` } : {} } } },
  test: { environment: 'node', include: ['src/**/*.test.ts'] },
});
