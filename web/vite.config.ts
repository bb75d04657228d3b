import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { svelte } from '@sveltejs/vite-plugin-svelte';
import tailwind from '@tailwindcss/vite';
import { defineConfig } from 'vitest/config';

// For `npm run dev`: CARREL_DEV is the address of a running server, CARREL_DEV_KEY an API key, because the page has no
// session there.
const server = process.env.CARREL_DEV ?? 'http://127.0.0.1:8080';
const key = process.env.CARREL_DEV_KEY;

// The files of the build are stored compressed, because the program contains them and nearly all browsers get them in
// this form. The server changes index.html, and PNG images do not become smaller.
const compressed = () => {
  let folder = '';
  return {
    name: 'carrel-compressed',
    apply: 'build' as const,
    configResolved(config: { build: { outDir: string } }) {
      folder = config.build.outDir;
    },
    closeBundle() {
      for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        const file = join(folder, name);
        if (name === 'index.html' || name.endsWith('.png') || !statSync(file).isFile()) continue;
        writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
        rmSync(file);
      }
    },
  };
};

export default defineConfig({
  // Relative URLs: the server adds the path of its base URL.
  base: './',
  plugins: [tailwind(), svelte(), compressed()],
  build: {
    target: 'es2022',
    // The content security policy allows neither data: URLs nor the inline script of the polyfill.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // pdf.js is one chunk, loaded when a PDF is opened.
    chunkSizeWarningLimit: 600,
    // The scripts of the first page are one file: small files compress badly.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } } },
  },
  resolve: process.env.VITEST ? { conditions: ['browser'] } : undefined,
  server: { proxy: { '/api': { target: server, headers: key ? { Authorization: `Bearer ${key}` } : {} } } },
  test: { environment: 'node', include: ['src/**/*.test.ts'] },
});
