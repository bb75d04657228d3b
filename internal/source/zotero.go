package source

import (
	"cmp"
	"net/netip"
	"net/url"
	"strings"

	"carrel/internal/core"
	"carrel/internal/lazyregexp"
	"carrel/internal/outbound"
)

// zoteroAddress is the default address of a Zotero source; it matches zotero.DefaultAddress.
const zoteroAddress = "https://api.zotero.org"

var (
	// zoteroLibrary matches the name of a library, also as part of its address on zotero.org.
	zoteroLibrary = lazyregexp.New(`^(?:https://(?:www|api)\.zotero\.org/)?(?:(users|groups)/)?([0-9]{1,12})(?:/.*)?$`)
	// zoteroKey matches what can be the value of a header.
	zoteroKey = lazyregexp.New(`^[!-~]{8,128}$`)
)

var zoteroRules = outbound.AddressRules{PlainHTTP: true, Private: true, MaxLength: maxAddress}

var zoteroCollection = core.TextRule{Max: 255}

func checkZotero(s *Settings, secret string) []core.FieldError {
	s.URL = strings.TrimSuffix(strings.TrimSpace(s.URL), "/")
	s.Library, s.Collection = strings.TrimSpace(s.Library), strings.TrimSpace(s.Collection)
	var bad []core.FieldError
	wrong := func(pointer, detail string) {
		if detail != "" {
			bad = append(bad, core.FieldError{Pointer: pointer, Detail: detail})
		}
	}
	if s.URL != "" {
		detail := outbound.CheckAddress(s.URL, zoteroRules)
		if detail == "" && strings.Contains(s.URL, "?") {
			detail = "Must not have a query."
		}
		wrong("/settings/url", detail)
	}
	switch m := zoteroLibrary.FindStringSubmatch(s.Library); {
	case m != nil:
		s.Library = cmp.Or(m[1], "users") + "/" + m[2]
	case s.Library != "":
		wrong("/settings/library", "Must be users/ or groups/ and a number, such as groups/2510000.")
	case secret == "" && !IsLoopback(s.URL):
		wrong("/settings/library", "Must be set if there is no key: users/ or groups/ and a number.")
	}
	wrong("/settings/collection", zoteroCollection.Check(s.Collection))
	if secret != "" && !zoteroKey.MatchString(secret) {
		wrong("/secret", "Must be a Zotero API key, without spaces. Create one at https://www.zotero.org/settings/keys.")
	}
	return bad
}

// IsLoopback reports whether an address is on this machine, where the Zotero program serves its local API.
func IsLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// zoteroSecretScope binds a key to the origin of the API.
func zoteroSecretScope(set Settings) string {
	return outbound.Origin(cmp.Or(strings.TrimSpace(set.URL), zoteroAddress))
}
