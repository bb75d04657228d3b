/**
 * Returns the first http or https URL. The server rejects other schemes, but an href must not rely on that.
 */
export function webLink(...addresses: (string | null | undefined | false)[]): string | undefined {
  for (const address of addresses) {
    if (!address) continue;
    try {
      const { protocol } = new URL(address);
      if (protocol === 'https:' || protocol === 'http:') return address;
    } catch {
      // not a URL
    }
  }
  return undefined;
}
