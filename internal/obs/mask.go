package obs

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
)

// hidden stands where a secret was.
const hidden = "[redacted]"

// secretWords end the names of attributes that hold secrets: "apiKey" and "set-cookie" are caught too. A count
// ("inputTokens") or an id ("keyId") is not. They are meant wide: a line that shows too little is a nuisance, one
// that shows a credential is an incident.
var secretWords = []string{"authorization", "cookie", "token", "key", "password", "passwd", "secret", "code"}

// minSecret is the least number of characters after a prefix that makes a credential. Keys have 38; ids of things
// have other prefixes than credentials.
const minSecret = 16

// masker takes secrets out of log lines. Names of attributes are the first guard; the second looks into every text,
// because errors of libraries quote what they were given.
type masker struct {
	prefixes []string
}

func newMasker(prefixes []string) masker {
	m := masker{}
	for _, p := range prefixes {
		if p != "" {
			m.prefixes = append(m.prefixes, p)
		}
	}
	return m
}

// attr is a slog ReplaceAttr: it sees every attribute but the groups themselves, of which it gets the names.
func (m masker) attr(groups []string, a slog.Attr) slog.Attr {
	if isSecretName(a.Key) {
		return slog.String(a.Key, hidden)
	}
	for _, g := range groups {
		if isSecretName(g) {
			return slog.String(a.Key, hidden)
		}
	}
	switch a.Value.Kind() {
	case slog.KindString:
		s := a.Value.String()
		if start, _ := m.find(s); start >= 0 {
			a.Value = slog.StringValue(m.text(s))
		}
	case slog.KindAny:
		a.Value = m.any(a.Value)
	default: // numbers and times hold no secret
	}
	return a
}

// any masks a value of a type of its own in the form in which a handler would print it.
func (m masker) any(v slog.Value) slog.Value {
	var s string
	switch x := v.Any().(type) {
	case nil, slog.Level, *slog.Source:
		return v
	case http.Header, *http.Request, *http.Response, url.Values, *url.Userinfo:
		return slog.StringValue(hidden) // full of credentials whose names we don't see
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
			return v // the handler prints it better than we do
		}
	}
	return slog.StringValue(m.text(s))
}

func isSecretName(name string) bool {
	for _, w := range secretWords {
		if n := len(name) - len(w); n >= 0 && strings.EqualFold(name[n:], w) {
			return true
		}
	}
	return false
}

// text returns s with every secret in it masked.
func (m masker) text(s string) string {
	var b strings.Builder
	for {
		start, end := m.find(s)
		if start < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:start])
		b.WriteString(hidden)
		s = s[end:]
	}
}

// find returns where the first secret in s starts and ends, or -1. A secret is what stands after "Bearer", after the
// prefix of one of our credentials, or as the password of a URL.
func (m masker) find(s string) (start, end int) {
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

// secretEnd returns where the secret that starts at i ends: at the first character that no credential has.
func secretEnd(s string, i int) int {
	if n := strings.IndexAny(s[i:], " \t\r\n\"'\\,;<>(){}@"); n >= 0 {
		return i + n
	}
	return len(s)
}

func (m masker) prefixBefore(s string) bool {
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

// wordLength counts the letters and digits at the start of s.
func wordLength(s string) int {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return i
		}
	}
	return len(s)
}

// passwordAt returns where the password of a URL starts and ends when s has "://user:password@" at its colon i, else -1.
func passwordAt(s string, i int) (start, end int) {
	rest, ok := strings.CutPrefix(s[i:], "://")
	if !ok {
		return -1, -1
	}
	if n := strings.IndexAny(rest, "/?# \t\r\n\""); n >= 0 {
		rest = rest[:n]
	}
	// The last @ ends it, as it does for url.Parse: a password may hold others.
	at := strings.LastIndexByte(rest, '@')
	colon := strings.IndexByte(rest, ':')
	if colon < 0 || colon+1 >= at {
		return -1, -1
	}
	host := i + len("://")
	return host + colon + 1, host + at
}
