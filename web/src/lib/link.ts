/**
 * The first of these addresses that is a web address. The server refuses other links, but what a page puts into an href
 * must not depend on that.
 */
export function webLink(...addresses: (string | null | undefined | false)[]): string | undefined {
  for (const address of addresses) {
    if (!address) continue;
    try {
      const { protocol } = new URL(address);
      if (protocol === 'https:' || protocol === 'http:') return address;
    } catch {
      /* no address at all */
    }
  }
  return undefined;
}
