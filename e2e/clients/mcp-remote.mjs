// mcp-remote, which stands between a program that knows only stdin and a server, and asks the person by itself.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { check } from './person.mjs';

const [, , base] = process.argv;
const folder = mkdtempSync(join(tmpdir(), 'mcp-remote-'));
// It would open a browser; there is none in an empty PATH, and then it prints where to go.
const proxy = spawn(process.execPath, ['node_modules/mcp-remote/dist/proxy.js', `${base}/mcp`], {
  env: { MCP_REMOTE_CONFIG_DIR: folder, HOME: folder, PATH: '' },
});
createInterface({ input: proxy.stderr }).on('line', (line) => {
  const address = line.match(/http:\S+\/api\/auth\/mcp\/authorize\?\S+/)?.[0];
  console.log(address ? `OPEN ${address}` : line);
});

const replies = new Map();
createInterface({ input: proxy.stdout }).on('line', (line) => {
  const message = JSON.parse(line);
  replies.get(message.id)?.(message);
});
const ask = (id, method, params) =>
  new Promise((resolve) => {
    replies.set(id, resolve);
    proxy.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  });

const hello = await ask(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'behind', version: '1' } });
check(hello.result?.serverInfo?.name === 'carrel', `it says ${JSON.stringify(hello)}`);
proxy.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
const { result } = await ask(2, 'tools/list', {});
check(result.tools.some((tool) => tool.name === 'list_agents'), 'list_agents is missing');
const called = await ask(3, 'tools/call', { name: 'list_agents', arguments: {} });
check(Array.isArray(called.result?.structuredContent?.agents), `it answers ${JSON.stringify(called)}`);
proxy.kill();
rmSync(folder, { recursive: true });
process.exit(0);
