package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The types below implement flag.Value for the fields of Config. Their errors describe the allowed values and do not
// quote the value, which may be a secret.

// checked is a string with a check.
type checked struct {
	text  *string
	check func(string) error
}

func (v checked) String() string { return *v.text }

func (v checked) Set(s string) error {
	*v.text = s
	return v.check(s)
}

type boolean bool

func (v *boolean) String() string { return strconv.FormatBool(bool(*v)) }

func (v *boolean) Set(s string) error {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return errors.New("must be true or false")
	}
	*v = boolean(b)
	return nil
}

type onOff bool

func (v *onOff) String() string {
	if *v {
		return "on"
	}
	return "off"
}

func (v *onOff) Set(s string) error {
	switch strings.ToLower(s) {
	case "on", "true", "1":
		*v = true
	case "off", "false", "0":
		*v = false
	default:
		return errors.New("must be on or off")
	}
	return nil
}

// maxDuration limits timeouts. A longer one is likely a mistake in the unit.
const maxDuration = 10 * time.Minute

type duration time.Duration

func (v *duration) String() string { return time.Duration(*v).String() }

func (v *duration) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > maxDuration {
		return errors.New("must be a duration from 0s to 10m, such as 25s")
	}
	*v = duration(d)
	return nil
}

type days int

func (v *days) String() string { return strconv.Itoa(int(*v)) }

func (v *days) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 365 {
		return errors.New("must be a number of days from 1 to 365")
	}
	*v = days(n)
	return nil
}

type level slog.Level

func (v *level) String() string { return strings.ToLower(slog.Level(*v).String()) }

func (v *level) Set(s string) error {
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if strings.EqualFold(s, l.String()) {
			*v = level(l)
			return nil
		}
	}
	return errors.New("must be debug, info, warn or error")
}

type prefixes []netip.Prefix

func (v *prefixes) String() string {
	out := make([]string, 0, len(*v))
	for _, p := range *v {
		out = append(out, p.String())
	}
	return strings.Join(out, ",")
}

func (v *prefixes) Set(s string) error {
	var out []netip.Prefix
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		p, err := parseNetwork(part)
		if err != nil {
			return errors.New("must be a comma-separated list of networks, such as 10.0.0.0/8,::1/128")
		}
		out = append(out, p)
	}
	*v = out
	return nil
}

// parseNetwork parses a network or a single address. It unmaps IPv4 networks in IPv6 notation, because addresses of
// clients are unmapped before the comparison.
func parseNetwork(s string) (netip.Prefix, error) {
	if !strings.Contains(s, "/") {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return netip.Prefix{}, err
		}
		return a.Unmap().WithZone("").Prefix(a.Unmap().BitLen())
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	if a := p.Addr(); a.Is4In6() {
		return a.Unmap().Prefix(p.Bits() - 96)
	}
	return p.Masked(), nil
}

func checkNotEmpty(s string) error {
	if s == "" {
		return errors.New("must not be empty")
	}
	return nil
}

func checkAddr(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return errors.New("must be an address and a port, such as 127.0.0.1:8080 or :8080")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return errors.New("must end in a port from 0 to 65535, such as 127.0.0.1:8080")
	}
	return nil
}

func checkOptionalAddr(s string) error {
	if s == "" {
		return nil
	}
	return checkAddr(s)
}

func checkBaseURL(s string) error {
	if s == "" {
		return nil // derived from addr
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil:
		return errors.New("must be an absolute http or https URL, such as https://carrel.example.org")
	case strings.ContainsAny(s, "?#"):
		return errors.New("must not have a query or a fragment")
	case strings.HasSuffix(s, "/"):
		return errors.New("must not end in a slash")
	}
	return nil
}

func checkDatabase(s string) error {
	if s == "" {
		return nil // SQLite
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return errors.New("must be a PostgreSQL URL, postgres://user:password@host/name; " +
			"percent-encode special characters of the password")
	}
	return nil
}

// redactURL redacts the password of a database URL, in the user info and in parameters.
func redactURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Opaque != "" {
		return "[redacted]"
	}
	if q, err := url.ParseQuery(u.RawQuery); err != nil {
		u.RawQuery = "redacted"
	} else {
		for name := range q {
			if strings.Contains(strings.ToLower(name), "pass") {
				q.Set(name, "xxxxx")
			}
		}
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}

func checkFile(s string) error {
	if s == "" {
		return nil
	}
	info, err := os.Stat(s)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errors.New("must name a file that exists")
	case err != nil:
		return fmt.Errorf("can't be read: %w", err)
	case info.IsDir():
		return errors.New("must name a file, not a folder")
	}
	return nil
}

// checkKeyFile is checkFile for a file with a private key.
func checkKeyFile(s string) error {
	if err := checkFile(s); err != nil || s == "" {
		return err
	}
	return checkPrivate(s)
}

func oneOf(choices ...string) func(string) error {
	return func(s string) error {
		if slices.Contains(choices, s) {
			return nil
		}
		return errors.New("must be one of: " + strings.Join(choices, ", "))
	}
}

// checkContact accepts addresses that are valid in a header and in a query.
func checkContact(s string) error {
	if s == "" {
		return nil
	}
	special := func(r rune) bool { return r <= ' ' || r > '~' || r == '(' || r == ')' }
	if a, err := mail.ParseAddress(s); err != nil || a.Address != s || strings.ContainsFunc(s, special) {
		return errors.New("must be an e-mail address, such as library@example.org")
	}
	return nil
}

func checkPrefix(s string) error {
	ok := len(s) >= 2 && len(s) <= 16 && s[0] >= 'a' && s[0] <= 'z'
	for i := range len(s) {
		ok = ok && (s[i] >= 'a' && s[i] <= 'z' || s[i] >= '0' && s[i] <= '9')
	}
	if !ok {
		return errors.New("must be 2 to 16 lower-case letters and digits, starting with a letter")
	}
	return nil
}

// minSecretKey is the minimum length of a key for HMAC-SHA-256. Shorter keys can be guessed.
const minSecretKey = 32

func checkSecretKey(s string) error {
	if s != "" && len(s) < minSecretKey {
		return errors.New("must have at least 32 characters; create one with `openssl rand -hex 32`")
	}
	return nil
}

// secretKeys is a list of keys, separated by commas or, in a file, by line ends. White space may be part of a key.
type secretKeys []string

func (v *secretKeys) String() string { return strings.Join(*v, ",") }

func (v *secretKeys) Set(s string) error {
	*v = nil
	for _, key := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(",\r\n", r) }) {
		if len(key) < minSecretKey {
			return errors.New("must be keys of at least 32 characters, separated by commas")
		}
		*v = append(*v, key)
	}
	return nil
}
