package server

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"carrel/internal/core"
)

// maxURL bounds a request's target. Our longest are a path of three ids with a cursor and search words.
const maxURL = 8 << 10

// credentialParams are the query parameters in which clients put credentials when they must not (RFC 6750, 2.3):
// URLs end up in histories and logs.
var credentialParams = []string{"access_token", "api_key", "token", "key"}

// guard turns away requests whose URL is a trick or a mistake before any handler can read it in its own way.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkURL(r); err != nil {
			s.opts.Problem(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// checkURL returns a nil error, and not a nil *core.Error, for a good URL.
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

// checkPath refuses paths that could mean one thing here and another further on: those that cleaning would change,
// and those that hide a slash. The id of a card is the one parameter that may hold a slash, as DOIs do.
func checkPath(u *url.URL) error {
	path, raw := u.Path, u.RawPath
	if before, card := splitCard(raw); card != "" {
		raw, path = before, strings.TrimSuffix(path, "/"+unescape(card)) // the id is one segment to every handler
	}
	switch {
	case path == "" || path[0] != '/':
		return malformedURL("The path must start with a slash.")
	case hasControl(u.Path) || !utf8.ValidString(u.Path):
		return malformedURL("The path must be UTF-8 without control characters.")
	case hasOddSegment(path) || raw != "" && hasEncodedSlash(raw):
		return core.NotFound("path")
	}
	return nil
}

// unescape decodes a part of a raw path that net/url has decoded before as a whole.
func unescape(raw string) string {
	decoded, _ := url.PathUnescape(raw)
	return decoded
}

// splitCard splits the raw path of a favourite, /api/agents/{agentId}/favourites/{cardId}, before the id of the card. For
// any other path, and for an id without an encoded slash, card is empty.
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

// hasOddSegment finds "//", "/./" and "/../", also at the end. It works on the decoded path, where %2e is a dot.
func hasOddSegment(path string) bool {
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

// checkQuery refuses credentials and what is not well formed. It reads the raw query: url.ParseQuery drops the parts
// that it does not like, and a credential in one of those has leaked all the same.
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
				Detail: "A credential must not be in the URL, where logs keep it. Send it in the header Authorization: Bearer … and replace this one.",
			}
		}
		wellFormed = wellFormed && wellEscaped(name) && wellEscaped(value)
	}
	if !wellFormed {
		return malformedURL("The query string is malformed. Percent-encode what is not a letter or a digit, ; and % too.")
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

// unescapeLeniently decodes the escapes that are right and leaves the others, as a sloppy reader down the line might.
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
