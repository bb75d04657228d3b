// oidc-provider with its store in memory, one public client, and refresh tokens that are made before the run and written
// to a file, one a line: node server.mjs PORT COUNT FILE
//
// The store has room for a million entries. By default it has a thousand, and would forget the grant of a client that
// waits while the others refresh a few hundred times.
import { writeFileSync } from 'node:fs';

import Provider from 'oidc-provider';
import MemoryAdapter from 'oidc-provider/lib/adapters/memory_adapter.js';
import LRU from 'oidc-provider/lib/helpers/lru.js';

const [, , port, count, file] = process.argv;
const scope = 'offline_access'; // without openid no id token is signed, as Carrel signs none at a refresh
const store = new LRU({ maxSize: 1_000_000 });
const provider = new Provider(`http://127.0.0.1:${port}`, {
  adapter: (model) => new MemoryAdapter(model, store),
  clients: [
    {
      client_id: 'bench',
      redirect_uris: ['https://app.example/cb'],
      response_types: ['code'],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    },
  ],
  features: { devInteractions: { enabled: false } },
  findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  rotateRefreshToken: true,
});

const client = await provider.Client.find('bench');
const tokens = [];
for (let i = 0; i < Number(count); i++) {
  const accountId = `user-${i}`;
  const grant = new provider.Grant({ accountId, clientId: client.clientId });
  grant.addOIDCScope(scope);
  const grantId = await grant.save();
  tokens.push(
    await new provider.RefreshToken({
      accountId,
      authTime: Math.floor(Date.now() / 1000),
      client,
      grantId,
      gty: 'authorization_code',
      scope,
    }).save(),
  );
}
writeFileSync(file, tokens.join('\n'));
provider.listen(Number(port), '127.0.0.1');
