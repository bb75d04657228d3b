package server

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"carrel/internal/core"
)

// maxURL is the longest request target. Our longest have three ids, a cursor and a search query.
const maxURL = 8 << 10

// credentialParams are query parameters in which clients send credentials. They are refused because URLs end up in
// histories and logs (RFC 6750, section 2.3).
var credentialParams = []string{"access_token", "api_key", "token", "key"}

// guard refuses malformed and ambiguous URLs, so that all handlers interpret a URL alike.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkURL(r); err != nil {
			s.opts.Problem(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// checkURL returns error and not *core.Error, so that a valid URL gives a nil interface.
func checkURL(r *http.Request) error {
	if len(r.RequestURI) > maxURL {
		return malformedURL("The URL is longer than 8192 characters.")
	}
	if err := checkPath(r.URL); err != nil {
		return err
	}
	if r.URL.RawQuery != "" && isAPI(r.URL.Path) {
		return checkQuery(r.URL.RawQuery)
	}
	return nil
}

func malformedURL(detail string) *core.Error {
	return &core.Error{Kind: core.KindInvalid, Code: "invalid_request", Detail: detail}
}

// checkPath refuses paths that could be interpreted in two ways: paths that path.Clean changes, and paths with an
// encoded slash. Only the id of a card may contain an encoded slash, because it may be a DOI.
func checkPath(u *url.URL) error {
	path, raw := u.Path, u.RawPath
	if before, card := splitCard(raw); card != "" {
		raw, path = before, strings.TrimSuffix(path, "/"+unescape(card)) // handlers see the id as one segment
	}
	switch {
	case path == "" || path[0] != '/':
		return malformedURL("The path must start with a slash.")
	case hasControl(u.Path) || !utf8.ValidString(u.Path):
		return malformedURL("The path must be UTF-8 without control characters.")
	case hasDotSegment(path) || raw != "" && hasEncodedSlash(raw):
		return core.NotFound("path")
	}
	return nil
}

// unescape decodes a part of a raw path, which net/url has already validated.
func unescape(raw string) string {
	decoded, _ := url.PathUnescape(raw)
	return decoded
}

// splitCard splits the raw path of a favourite, /api/agents/{agentId}/favourites/{cardId}, before the card id. For
// other paths, and for an id without an encoded slash, card is empty.
func splitCard(raw string) (before, card string) {
	rest, ok := strings.CutPrefix(raw, "/api/agents/")
	if !ok {
		return raw, ""
	}
	_, rest, _ = strings.Cut(rest, "/")
	card, ok = strings.CutPrefix(rest, "favourites/")
	if !ok || strings.Contains(card, "/") || !hasEncodedSlash(card) {
		return raw, ""
	}
	return strings.TrimSuffix(raw, "/"+card), card
}

func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return true
		}
	}
	return false
}

// hasDotSegment reports whether a decoded path contains "//", "/./" or "/../", or ends with a dot segment.
func hasDotSegment(path string) bool {
	for i := range len(path) {
		if path[i] != '/' || i == len(path)-1 {
			continue
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(path[i+1:], "."), ".")
		if rest == "" || rest[0] == '/' {
			return true
		}
	}
	return false
}

func hasEncodedSlash(raw string) bool {
	for {
		i := strings.IndexByte(raw, '%')
		if i < 0 || i+2 >= len(raw) {
			return false
		}
		if raw[i+1] == '2' && raw[i+2]|0x20 == 'f' {
			return true
		}
		raw = raw[i+3:]
	}
}

// isAPI reports whether a path belongs to the API or to the MCP endpoint.
func isAPI(path string) bool {
	for _, root := range [...]string{"/api", "/mcp"} {
		if rest, ok := strings.CutPrefix(path, root); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// checkQuery refuses credentials and malformed queries. It reads the raw query, because url.ParseQuery drops invalid
// parts, and a credential in one of them has leaked too.
func checkQuery(raw string) error {
	wellFormed := true
	for raw != "" {
		var part string
		if i := strings.IndexAny(raw, "&;"); i < 0 {
			part, raw = raw, ""
		} else {
			wellFormed = wellFormed && raw[i] == '&'
			part, raw = raw[:i], raw[i+1:]
		}
		name, value, _ := strings.Cut(part, "=")
		if isCredentialParam(name) {
			return &core.Error{
				Kind: core.KindInvalid, Code: "credential_in_query",
				Detail: "Credentials must not be in the URL, which is logged. Send them in the header Authorization: Bearer …, " +
					"and replace this one.",
			}
		}
		wellFormed = wellFormed && wellEscaped(name) && wellEscaped(value)
	}
	if !wellFormed {
		return malformedURL("The query string is malformed. Percent-encode all characters except letters and digits.")
	}
	return nil
}

func isCredentialParam(name string) bool {
	if strings.IndexByte(name, '%') >= 0 {
		name = unescapeLeniently(name)
	}
	name = strings.Trim(name, " +\t")
	for _, p := range credentialParams {
		if strings.EqualFold(name, p) {
			return true
		}
	}
	return false
}

// unescapeLeniently decodes valid escapes and keeps invalid ones, as a lenient parser of the logs might.
func unescapeLeniently(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			b.WriteByte(fromHex(s[i+1])<<4 | fromHex(s[i+2]))
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func wellEscaped(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			continue
		}
		if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
			return false
		}
		i += 2
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

func fromHex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
