import { base } from './base';

type Policy = { createScriptURL: (url: string) => string };
type Policies = { createPolicy: (name: string, rules: Policy) => Policy };

const address = `${base}/service-worker.js`;

/** Registers the service worker, which shows a page of its own without a connection. The app works without it too. */
export async function registerServiceWorker(): Promise<void> {
  if (!('serviceWorker' in navigator)) return;
  // The content security policy of the page requires a named policy for the address of a worker.
  const policy = (globalThis as { trustedTypes?: Policies }).trustedTypes?.createPolicy('carrel-service-worker', {
    createScriptURL: () => address,
  });
  await navigator.serviceWorker.register(policy?.createScriptURL(address) ?? address, { scope: `${base}/` });
}
