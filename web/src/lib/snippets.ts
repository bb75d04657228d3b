/** How each client is told where Carrel is. `code` is a connect code, for those that have no browser to sign in with. */
export type Snippet = { id: string; name: string; text: string; language: 'bash' | 'json' };

/** Snippets for an installation at this address. Clients that know OAuth need the address alone and ask the user to sign in. */
export function snippets(address: string, code = 'CODE'): Snippet[] {
  const mcp = `${address}/mcp`;
  const json = (value: unknown) => JSON.stringify(value, null, 2);
  const exchange = `curl -s ${address}/api/connect/exchange -H 'Content-Type: application/json' \\\n  -d '{"code": "${code}", "client": "my-script"}'`;
  return [
    { id: 'claude-code', name: 'Claude Code', language: 'bash', text: `claude mcp add --transport http carrel ${mcp}` },
    { id: 'claude', name: 'Claude', language: 'bash', text: mcp },
    { id: 'cursor', name: 'Cursor', language: 'json', text: json({ mcpServers: { carrel: { url: mcp } } }) },
    { id: 'vscode', name: 'VS Code', language: 'json', text: json({ servers: { carrel: { type: 'http', url: mcp } } }) },
    { id: 'codex', name: 'Codex', language: 'bash', text: `codex mcp add carrel --url ${mcp}` },
    { id: 'gemini', name: 'Gemini CLI', language: 'bash', text: `gemini mcp add --transport http carrel ${mcp}` },
    { id: 'curl', name: 'curl', language: 'bash', text: exchange },
    { id: 'python', name: 'Python', language: 'bash', text: `import json, urllib.request\nbody = json.dumps({"code": "${code}", "client": "my-script"}).encode()\nrequest = urllib.request.Request("${address}/api/connect/exchange", body, {"Content-Type": "application/json"})\nprint(json.load(urllib.request.urlopen(request))["token"])` },
  ];
}
