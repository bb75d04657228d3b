// A client that was allowed little and calls a tool that needs more: it must ask its person again, and then succeed.
import { check, person, secret } from './person.mjs';

const [, , base, sdk] = process.argv;
const { Client, StreamableHTTPClientTransport, UnauthorizedError } =
  sdk === 'client'
    ? await import('@modelcontextprotocol/client')
    : {
        ...(await import('@modelcontextprotocol/sdk/client/index.js')),
        ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
        ...(await import('@modelcontextprotocol/sdk/client/auth.js')),
      };

const someone = await person();
const kept = {};
let opened, asks;
const provider = {
  redirectUrl: someone.redirectUri,
  clientMetadata: {
    client_name: `Step-up ${sdk}`,
    redirect_uris: [someone.redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope: 'agents',
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => {
    secret(tokens.access_token, tokens.refresh_token);
    kept.tokens = tokens;
  },
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => (kept.verifier = verifier),
  redirectToAuthorization: (address) => {
    // The first time it asks for little, whatever the server would give.
    if (!kept.tokens) address.searchParams.set('scope', 'agents');
    asks = address.searchParams.get('scope').split(' ');
    opened = someone.open(address);
  },
};
const finish = async (transport) => {
  const answer = await opened;
  secret(answer.searchParams.get('code'));
  await transport.finishAuth(sdk === 'client' ? answer.searchParams : answer.searchParams.get('code'));
};
const connected = async (transport) => {
  const client = new Client({ name: 'step-up', version: '1.0.0' });
  await client.connect(transport);
  return client;
};
const newTransport = () => new StreamableHTTPClientTransport(new URL('/mcp', base), { authProvider: provider });

const turnedAway = newTransport();
await connected(turnedAway).catch(() => {});
await finish(turnedAway);
const transport = newTransport();
const client = await connected(transport);
check(!(await client.listTools()).tools.some((tool) => tool.name === 'create_agent'), 'create_agent is shown');

const create = { name: 'create_agent', arguments: { name: `Made by ${sdk}` } };
opened = undefined;
await client.callTool(create).catch((error) => {
  if (!opened) throw error;
});
check(opened, 'it did not ask for more');
check(asks.includes('manage') && asks.includes('agents'), `it asked for ${asks}`);
await finish(transport);
const again = await connected(newTransport());
const made = await again.callTool(create);
check(made.structuredContent?.agent?.name === `Made by ${sdk}`, `made ${JSON.stringify(made)}`);
someone.close();
process.exit(0);
