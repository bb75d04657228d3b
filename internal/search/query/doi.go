package query

import (
	"net/url"
	"strings"

	"github.com/cespare/xxhash/v2"

	"carrel/internal/lazyregexp"
)

// DOIKey returns a hash that is the same for all spellings of a DOI, and 0 for a text that is not a DOI.
func DOIKey(text string) uint64 {
	doi, ok := parseDOI(text)
	if !ok {
		return 0
	}
	return max(1, xxhash.Sum64String(doi))
}

// doiForm is the syntax of DOIs in practice: a registrant of four to nine digits, optionally with subdivisions, and an
// almost arbitrary suffix (DOI Handbook, 2.2).
var doiForm = lazyregexp.New(`^10\.[0-9]{4,9}(\.[0-9]+)*/\S+$`)

var doiResolvers = []string{"doi.org/", "dx.doi.org/", "www.doi.org/"}

// parseDOI returns the DOI in lower case, because DOIs are compared without case. It accepts a bare DOI, one after
// doi:, and the address of a resolver.
func parseDOI(text string) (string, bool) {
	doi := strings.ToLower(strings.TrimSpace(text))
	if rest, ok := strings.CutPrefix(doi, "doi:"); ok {
		doi = strings.TrimSpace(rest)
	}
	if rest, ok := cutResolver(doi); ok {
		doi = rest
		if plain, err := url.PathUnescape(rest); err == nil {
			doi = strings.ToLower(plain)
		}
	}
	return doi, doiForm.MatchString(doi)
}

// cutResolver removes the address of a DOI resolver.
func cutResolver(address string) (string, bool) {
	address = strings.TrimPrefix(strings.TrimPrefix(address, "https://"), "http://")
	for _, host := range doiResolvers {
		if rest, ok := strings.CutPrefix(address, host); ok {
			return rest, true
		}
	}
	return "", false
}
