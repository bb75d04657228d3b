// A client of the Model Context Protocol with its own OAuth provider: it is turned away, discovers, registers or shows its
// document, sends its person here, connects, and renews its token when that is refused. The SDK is the first argument after
// the address, and a document's address the next.
import { check, person, secret } from './person.mjs';

const [, , base, sdk, documentUrl] = process.argv;
const { Client, StreamableHTTPClientTransport, UnauthorizedError } =
  sdk === 'client'
    ? await import('@modelcontextprotocol/client')
    : {
        ...(await import('@modelcontextprotocol/sdk/client/index.js')),
        ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
        ...(await import('@modelcontextprotocol/sdk/client/auth.js')),
      };

const someone = await person();
let opened;
const kept = {};
const provider = {
  redirectUrl: someone.redirectUri,
  clientMetadataUrl: documentUrl,
  clientMetadata: {
    client_name: `MCP ${sdk}`,
    redirect_uris: [someone.redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope: 'agents offline_access',
  },
  state: () => 'a state of the client',
  clientInformation: () => kept.client,
  saveClientInformation: (client) => {
    kept.client = client;
  },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => {
    secret(tokens.access_token, tokens.refresh_token);
    kept.tokens = tokens;
  },
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => {
    secret(verifier);
    kept.verifier = verifier;
  },
  redirectToAuthorization: (address) => {
    opened = someone.open(address);
  },
};

const newTransport = () => new StreamableHTTPClientTransport(new URL('/mcp', base), { authProvider: provider });
async function tools() {
  const client = new Client({ name: `carrel-test-${sdk}`, version: '1.0.0' });
  await client.connect(newTransport());
  const list = await client.listTools();
  await client.close();
  return list.tools.map((tool) => tool.name);
}

const turnedAway = newTransport();
await new Client({ name: 'first', version: '1.0.0' })
  .connect(turnedAway)
  .then(() => check(false, 'it connected without a token'))
  .catch((error) => {
    if (!(error instanceof UnauthorizedError) && !opened) throw error;
  });
const answer = await opened;
secret(answer.searchParams.get('code'));
check(answer.searchParams.get('state') === 'a state of the client', `the answer is ${answer.search}`);
// Version 2 checks the issuer in the answer, and takes all of it; version 1 wants the code.
await turnedAway.finishAuth(sdk === 'client' ? answer.searchParams : answer.searchParams.get('code'));
check(kept.client?.client_id === documentUrl || !documentUrl, `the client is ${kept.client?.client_id}`);
check((await tools()).includes('list_agents'), 'list_agents is missing');

const first = kept.tokens;
kept.tokens = { ...first, access_token: 'expired' };
check((await tools()).includes('list_agents'), 'list_agents is missing after a refresh');
check(kept.tokens.refresh_token && kept.tokens.refresh_token !== first.refresh_token, 'the token was not renewed');
someone.close();
