// openid-client as a confidential client with HTTP Basic: discovery, registration, code, user info, refresh, introspection
// and revocation. It verifies the id token, its signature included.
import * as client from 'openid-client';

import { check, person, secret } from './person.mjs';

const issuer = new URL(process.argv[2]);
const someone = await person();
const config = await client.dynamicClientRegistration(
  issuer,
  { client_name: 'openid-client', redirect_uris: [someone.redirectUri], token_endpoint_auth_method: 'client_secret_basic' },
  client.ClientSecretBasic(),
  { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks] },
);
secret(config.clientMetadata().client_secret);

const verifier = client.randomPKCECodeVerifier();
const state = client.randomState();
const nonce = client.randomNonce();
const answer = await someone.open(
  client.buildAuthorizationUrl(config, {
    redirect_uri: someone.redirectUri,
    scope: 'openid profile email offline_access',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
    max_age: '3600',
  }),
);
secret(verifier, answer.searchParams.get('code'));
const tokens = await client.authorizationCodeGrant(config, answer, {
  pkceCodeVerifier: verifier,
  expectedState: state,
  expectedNonce: nonce,
  maxAge: 3600,
  idTokenExpected: true,
});
secret(tokens.access_token, tokens.refresh_token, tokens.id_token);
const claims = tokens.claims();
check(claims.email === 'ada@example.org' && claims.name === 'Ada', `claims: ${JSON.stringify(claims)}`);
const user = await client.fetchUserInfo(config, tokens.access_token, claims.sub);
check(user.email === 'ada@example.org', `user info: ${JSON.stringify(user)}`);

const agents = await fetch(new URL('/api/agents', issuer), { headers: { authorization: `Bearer ${tokens.access_token}` } });
check(agents.status === 200, `the API answers ${agents.status}`);

const next = await client.refreshTokenGrant(config, tokens.refresh_token);
secret(next.access_token, next.refresh_token);
check(next.refresh_token && next.refresh_token !== tokens.refresh_token, 'the refresh token was not rotated');
const seen = await client.tokenIntrospection(config, next.access_token);
check(seen.active && seen.sub === claims.sub, `introspection: ${JSON.stringify(seen)}`);
await client.tokenRevocation(config, next.refresh_token);
check(!(await client.tokenIntrospection(config, next.access_token)).active, 'a token of a revoked grant is active');
someone.close();
