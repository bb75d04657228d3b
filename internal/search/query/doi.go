package query

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// DOIKey returns a number that all spellings of a DOI have in common; 0 for a text that is none.
func DOIKey(text string) uint64 {
	doi, ok := parseDOI(text)
	if !ok {
		return 0
	}
	return max(1, xxhash.Sum64String(doi))
}

// doiForm is the syntax of DOIs in practice: a registrant of four to nine digits, perhaps with subdivisions, and
// a suffix that may be nearly anything (DOI Handbook, 2.2).
var doiForm = regexp.MustCompile(`^10\.[0-9]{4,9}(\.[0-9]+)*/\S+$`)

var doiResolvers = []string{"doi.org/", "dx.doi.org/", "www.doi.org/"}

// parseDOI returns the bare, lower-case DOI (they are compared without case) of a text that is one, written plain,
// with doi: before it, or as the address of a resolver.
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

// cutResolver returns what stands after the address of a DOI resolver.
func cutResolver(address string) (string, bool) {
	address = strings.TrimPrefix(strings.TrimPrefix(address, "https://"), "http://")
	for _, host := range doiResolvers {
		if rest, ok := strings.CutPrefix(address, host); ok {
			return rest, true
		}
	}
	return "", false
}
