/**
 * Set-up of each client, identical to docs/connect.md. `text` is for clients that sign in through a browser; `key` uses
 * an API key, or the token from a connect code, as TOKEN.
 */
export type Snippet = { id: string; name: string; text: string; key?: string };

/** Snippets for an installation at this address, with a connect code if there is one. */
export function snippets(address: string, code = 'CODE'): Snippet[] {
  const mcp = `${address}/mcp`;
  const json = (value: unknown) => JSON.stringify(value, null, 2);
  const bearer = { Authorization: 'Bearer TOKEN' };
  const remote = (...more: string[]) => ['-y', 'mcp-remote', mcp, ...more];
  const exchange = [
    `curl -s ${address}/api/connect/exchange -H 'Content-Type: application/json' \\`,
    `  -d '{"code": "${code}", "client": "my-script"}'`,
  ].join('\n');
  const python = [
    'import json, urllib.request',
    `body = json.dumps({"code": "${code}", "client": "my-script"}).encode()`,
    `request = urllib.request.Request("${address}/api/connect/exchange", body, {"Content-Type": "application/json"})`,
    'print(json.load(urllib.request.urlopen(request))["token"])',
  ].join('\n');
  return [
    {
      id: 'claude-code',
      name: 'Claude Code',
      text: `claude mcp add --transport http carrel ${mcp}`,
      key: `claude mcp add --transport http carrel ${mcp} --header "Authorization: Bearer TOKEN"`,
    },
    { id: 'claude', name: 'Claude', text: mcp },
    {
      id: 'claude-desktop',
      name: 'Claude Desktop',
      text: mcp,
      key: json({
        mcpServers: {
          carrel: {
            command: 'npx',
            args: remote('--header', 'Authorization:${CARREL_AUTH}'),
            env: { CARREL_AUTH: 'Bearer TOKEN' },
          },
        },
      }),
    },
    { id: 'chatgpt', name: 'ChatGPT', text: mcp },
    {
      id: 'cursor',
      name: 'Cursor',
      text: json({ mcpServers: { carrel: { url: mcp } } }),
      key: json({ mcpServers: { carrel: { url: mcp, headers: { Authorization: 'Bearer ${env:CARREL_TOKEN}' } } } }),
    },
    {
      id: 'vscode',
      name: 'VS Code',
      text: json({ servers: { carrel: { type: 'http', url: mcp } } }),
      key: json({
        inputs: [{ type: 'promptString', id: 'carrel', description: 'Carrel key', password: true }],
        servers: { carrel: { type: 'http', url: mcp, headers: { Authorization: 'Bearer ${input:carrel}' } } },
      }),
    },
    {
      id: 'gemini',
      name: 'Gemini CLI',
      text: `gemini mcp add --transport http carrel ${mcp}`,
      key: `gemini mcp add --transport http --header "Authorization: Bearer TOKEN" carrel ${mcp}`,
    },
    {
      id: 'codex',
      name: 'Codex',
      text: `codex mcp add carrel --url ${mcp}`,
      key: `codex mcp add carrel --url ${mcp} --bearer-token-env-var CARREL_TOKEN`,
    },
    {
      id: 'zed',
      name: 'Zed',
      text: json({ context_servers: { carrel: { url: mcp } } }),
      key: json({ context_servers: { carrel: { url: mcp, headers: bearer } } }),
    },
    {
      id: 'mcp-remote',
      name: 'mcp-remote',
      text: `npx ${remote().join(' ')}`,
      key: `CARREL_AUTH="Bearer TOKEN" npx ${remote().join(' ')} --header 'Authorization:\${CARREL_AUTH}'`,
    },
    {
      id: 'inspector',
      name: 'Inspector',
      text: 'npx @modelcontextprotocol/inspector',
      key:
        `npx @modelcontextprotocol/inspector --cli ${mcp} --transport http --method tools/list ` +
        '--header "Authorization: Bearer TOKEN"',
    },
    { id: 'curl', name: 'curl', text: exchange },
    { id: 'python', name: 'Python', text: python },
  ];
}
