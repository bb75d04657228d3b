// Binary values are base64url in JSON (WebAuthn 3, 5.1.8). The browser functions that convert them are too new.
const bytes = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
const base64url = (buffer: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '');

/** Signs a challenge of the server with a passkey. It throws a DOMException if the user cancels. */
export async function usePasskey(json: Record<string, unknown>): Promise<Record<string, unknown>> {
  const options = json as unknown as PublicKeyCredentialRequestOptionsJSON;
  const publicKey = {
    ...options,
    challenge: bytes(options.challenge),
    allowCredentials: options.allowCredentials?.map((c) => ({ ...c, id: bytes(c.id) })),
  } as PublicKeyCredentialRequestOptions;
  const found = (await navigator.credentials.get({ publicKey })) as PublicKeyCredential;
  const signed = found.response as AuthenticatorAssertionResponse;
  return {
    id: found.id,
    rawId: base64url(found.rawId),
    type: found.type,
    authenticatorAttachment: found.authenticatorAttachment ?? undefined,
    clientExtensionResults: found.getClientExtensionResults(),
    response: {
      clientDataJSON: base64url(signed.clientDataJSON),
      authenticatorData: base64url(signed.authenticatorData),
      signature: base64url(signed.signature),
      userHandle: signed.userHandle ? base64url(signed.userHandle) : undefined,
    },
  };
}
