package core

import "net/netip"

// ClientNetwork returns the address by which rate limits count a client: an IPv4 address, also in IPv6 notation, or the
// first address of the /64 of an IPv6 address. A subscriber usually gets a whole /64 and could use a new address for
// every request. The zero Addr is returned unchanged.
func ClientNetwork(addr netip.Addr) netip.Addr {
	addr = addr.Unmap()
	if !addr.Is6() {
		return addr
	}
	prefix, _ := addr.WithZone("").Prefix(64) // 64 is a valid IPv6 prefix length
	return prefix.Addr()
}
