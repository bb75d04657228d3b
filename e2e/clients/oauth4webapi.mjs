// oauth4webapi as a public client: discovery by both documents, the resource's metadata, registration, code, refresh and
// revocation. It holds every reply to the letter of its RFC.
import * as oauth from 'oauth4webapi';

import { check, person, secret } from './person.mjs';

const issuer = new URL(process.argv[2]);
const options = { [oauth.allowInsecureRequests]: true };
for (const algorithm of ['oidc', 'oauth2']) {
  await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { ...options, algorithm }));
}
const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' }));
for (const path of ['', '/mcp']) {
  const resource = new URL(path, issuer);
  // A resource without a path is written without a slash.
  const name = path ? resource : { href: issuer.origin };
  const metadata = await (await oauth.resourceDiscoveryRequest(resource, options)).json();
  check(metadata.resource === name.href && metadata.authorization_servers[0] === as.issuer, `resource: ${JSON.stringify(metadata)}`);
}

const someone = await person();
const client = await oauth.processDynamicClientRegistrationResponse(
  await oauth.dynamicClientRegistrationRequest(
    as,
    { client_name: 'oauth4webapi', redirect_uris: [someone.redirectUri], token_endpoint_auth_method: 'none' },
    options,
  ),
);
const verifier = oauth.generateRandomCodeVerifier();
const state = oauth.generateRandomState();
const nonce = oauth.generateRandomNonce();
const authorize = new URL(as.authorization_endpoint);
for (const [name, value] of Object.entries({
  client_id: client.client_id,
  redirect_uri: someone.redirectUri,
  response_type: 'code',
  scope: 'openid agents offline_access',
  code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
  resource: issuer.origin,
  state,
  nonce,
})) {
  authorize.searchParams.set(name, value);
}
const answer = oauth.validateAuthResponse(as, client, await someone.open(authorize), state);
secret(verifier, answer.get('code'));
const redeem = () =>
  oauth.authorizationCodeGrantRequest(as, client, oauth.None(), answer, someone.redirectUri, verifier, options);
const response = await redeem();
const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, { expectedNonce: nonce, requireIdToken: true });
await oauth.validateApplicationLevelSignature(as, response, options);
secret(tokens.access_token, tokens.refresh_token, tokens.id_token);
const api = async (token) => {
  try {
    return (await oauth.protectedResourceRequest(token, 'GET', new URL('/api/agents', issuer), undefined, undefined, options)).status;
  } catch (error) {
    check(error instanceof oauth.WWWAuthenticateChallengeError && error.cause[0].parameters.error === 'invalid_token', `${error}`);
    return error.status;
  }
};
check((await api(tokens.access_token)) === 200, 'the API does not take the token');
const next = await oauth.processRefreshTokenResponse(
  as,
  client,
  await oauth.refreshTokenGrantRequest(as, client, oauth.None(), tokens.refresh_token, options),
);
secret(next.access_token, next.refresh_token);
check((await api(next.access_token)) === 200, 'the API does not take the next token');
await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, oauth.None(), next.refresh_token, options));
check((await api(next.access_token)) === 401, 'the API takes a revoked token');
await oauth
  .processAuthorizationCodeResponse(as, client, await redeem())
  .then(() => check(false, 'a code works twice'))
  .catch((error) => check(error.error === 'invalid_grant', `a used code: ${error}`));
someone.close();
