// The inspector on the command line, which asks the person by itself when the server wants to know who they are.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { check } from './person.mjs';

const [, , base, era] = process.argv;
// A port that is free: the inspector takes the same one every time unless it is told.
const probe = http.createServer();
await new Promise((ready) => probe.listen(0, '127.0.0.1', ready));
const { port } = probe.address();
await new Promise((closed) => probe.close(closed));

const folder = mkdtempSync(join(tmpdir(), 'inspector-'));
const program = 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js';
const inspector = spawn(
  process.execPath,
  [program, '--cli', `${base}/mcp`, '--transport', 'http', '--protocol-era', era, '--method', 'tools/list',
    '--callback-url', `http://127.0.0.1:${port}/oauth/callback`],
  { env: { HOME: folder, PATH: '', MCP_AUTO_OPEN_ENABLED: 'true' }, stdio: ['ignore', 'pipe', 'pipe'] },
);
let said = '';
let opened = false;
const hear = (chunk) => {
  said += chunk;
  const address = said.match(/http:\S+\/api\/auth\/mcp\/authorize\?\S+(?=\s)/)?.[0];
  if (address && !opened) {
    opened = true;
    console.log(`OPEN ${address}`);
  }
};
inspector.stdout.on('data', hear);
inspector.stderr.on('data', hear);
const code = await new Promise((ended) => inspector.on('close', ended));
rmSync(folder, { recursive: true });
check(opened, `nobody was asked: ${said}`);
check(code === 0 && said.includes('list_agents'), `it ends with ${code}: ${said}`);
