package obs

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
)

// redacted replaces a secret in log output.
const redacted = "[redacted]"

// secretSuffixes end the names of attributes with secrets, such as "apiKey" and "set-cookie". Counts ("inputTokens")
// and ids ("keyId") do not match. The list is broad on purpose: redacting too much is a nuisance, leaking a credential
// is an incident.
var secretSuffixes = []string{"authorization", "cookie", "token", "key", "password", "passwd", "secret", "code"}

// minSecret is the minimum length of a credential after its prefix. Keys have 38 characters.
const minSecret = 16

// redactor removes secrets from log records: attributes with secret names, and secrets inside any text, because errors
// of libraries quote their input.
type redactor struct {
	prefixes []string
}

func newRedactor(prefixes []string) redactor {
	m := redactor{}
	for _, p := range prefixes {
		if p != "" {
			m.prefixes = append(m.prefixes, p)
		}
	}
	return m
}

// attr is a slog.HandlerOptions.ReplaceAttr. It is called for every attribute except groups. Besides redacting secrets,
// it prints all durations as seconds, because the handlers of slog differ: nanoseconds in JSON, "1.5s" in text.
func (m redactor) attr(groups []string, a slog.Attr) slog.Attr {
	if isSecretName(a.Key) {
		return slog.String(a.Key, redacted)
	}
	for _, g := range groups {
		if isSecretName(g) {
			return slog.String(a.Key, redacted)
		}
	}
	switch a.Value.Kind() {
	case slog.KindString:
		s := a.Value.String()
		if start, _ := m.find(s); start >= 0 {
			a.Value = slog.StringValue(m.text(s))
		}
	case slog.KindDuration:
		a.Value = slog.Float64Value(a.Value.Duration().Seconds())
	case slog.KindAny:
		a.Value = m.any(a.Value)
	default: // numbers and times are not secrets
	}
	return a
}

// any redacts the printed form of a value.
func (m redactor) any(v slog.Value) slog.Value {
	var s string
	switch x := v.Any().(type) {
	case nil, slog.Level, *slog.Source:
		return v
	case http.Header, *http.Request, *http.Response, url.Values, *url.Userinfo:
		return slog.StringValue(redacted) // may contain credentials under any name
	case *url.URL:
		s = x.Redacted()
	case error:
		s = x.Error()
	case fmt.Stringer:
		s = x.String()
	case []byte:
		s = string(x)
	default:
		b, err := json.Marshal(x)
		if err != nil {
			s = fmt.Sprintf("%+v", x)
			break
		}
		s = string(b)
		if start, _ := m.find(s); start < 0 {
			return v // printed by the handler
		}
	}
	return slog.StringValue(m.text(s))
}

func isSecretName(name string) bool {
	for _, w := range secretSuffixes {
		if n := len(name) - len(w); n >= 0 && strings.EqualFold(name[n:], w) {
			return true
		}
	}
	return false
}

// text returns s with all secrets redacted.
func (m redactor) text(s string) string {
	var b strings.Builder
	for {
		start, end := m.find(s)
		if start < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:start])
		b.WriteString(redacted)
		s = s[end:]
	}
}

// find returns the start and end of the first secret in s, or -1. Secrets follow "Bearer" or the prefix of a
// credential, or are the password of a URL.
func (m redactor) find(s string) (start, end int) {
	for i := range len(s) {
		switch s[i] {
		case ' ', '\t':
			if i+1 < len(s) && !isBlank(s[i+1]) && endsWith(strings.TrimRight(s[:i], " \t"), "bearer") {
				return i + 1, secretEnd(s, i+1)
			}
		case '_':
			if m.prefixBefore(s[:i]) && wordLength(s[i+1:]) >= minSecret {
				return i + 1, secretEnd(s, i+1)
			}
		case ':':
			if start, end := passwordAt(s, i); start >= 0 {
				return start, end
			}
		}
	}
	return -1, -1
}

// secretEnd returns the end of the secret that starts at i: the first character that is not part of a credential.
func secretEnd(s string, i int) int {
	if n := strings.IndexAny(s[i:], " \t\r\n\"'\\,;<>(){}@"); n >= 0 {
		return i + n
	}
	return len(s)
}

func (m redactor) prefixBefore(s string) bool {
	for _, p := range m.prefixes {
		if strings.HasSuffix(s, p) {
			return true
		}
	}
	return false
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func endsWith(s, word string) bool {
	n := len(s) - len(word)
	return n >= 0 && strings.EqualFold(s[n:], word)
}

// wordLength returns the number of letters and digits at the start of s.
func wordLength(s string) int {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return i
		}
	}
	return len(s)
}

// passwordAt returns the start and end of the password if s has "://user:password@" at index i, else -1.
func passwordAt(s string, i int) (start, end int) {
	rest, ok := strings.CutPrefix(s[i:], "://")
	if !ok {
		return -1, -1
	}
	if n := strings.IndexAny(rest, "/?# \t\r\n\""); n >= 0 {
		rest = rest[:n]
	}
	// The last @ ends the password, as in url.Parse.
	at := strings.LastIndexByte(rest, '@')
	colon := strings.IndexByte(rest, ':')
	if colon < 0 || colon+1 >= at {
		return -1, -1
	}
	host := i + len("://")
	return host + colon + 1, host + at
}
