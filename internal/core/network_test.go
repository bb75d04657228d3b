package core

import (
	"net/netip"
	"testing"
)

func TestClientNetworkIsTheIPv4AddressOrTheIPv6Subscriber(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"192.0.2.7":                     "192.0.2.7",
		"::ffff:192.0.2.7":              "192.0.2.7",
		"2001:db8:1:2:3:4:5:6":          "2001:db8:1:2::",
		"2001:db8:1:2:ffff:ffff:ffff:1": "2001:db8:1:2::",
		"2001:db8:1:3::1":               "2001:db8:1:3::",
		"fe80::1%eth0":                  "fe80::",
		"::1":                           "::",
	} {
		if got := ClientNetwork(netip.MustParseAddr(addr)).String(); got != want {
			t.Errorf("%s counts as %s, want %s", addr, got, want)
		}
	}
	if got := ClientNetwork(netip.Addr{}); got.IsValid() {
		t.Errorf("an unknown address counts as %s", got)
	}
}
