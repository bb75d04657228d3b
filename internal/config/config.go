// Package config holds the settings of an installation: one struct, filled once at start from defaults, a settings
// file, the environment and the flags, and passed by value from there. One table (settings.go) says all there is to
// know about each setting, so that loading, help texts and `carrel config` can't disagree.
package config

import (
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"
)

// Config is every setting, checked. The zero value is not usable; Load makes one.
type Config struct {
	// Addr is where the server listens.
	Addr string
	// Data is the folder that holds everything the installation keeps on disk.
	Data string
	// BaseURL is the address clients use, without a trailing slash.
	BaseURL string
	// Database is a PostgreSQL URL; empty means SQLite inside Data.
	Database string
	// TLSCert and TLSKey are PEM files; both are set or neither.
	TLSCert, TLSKey string
	// Demo fills an empty data folder with the sample library.
	Demo bool
	// MetricsAddr is where Prometheus metrics are served; empty means nowhere.
	MetricsAddr string
	// LogLevel is the least level that is logged.
	LogLevel slog.Level
	// LogFormat is "auto", "text" or "json".
	LogFormat string
	// TurnWait is how long a sent message waits for its reply before it is answered with 202.
	TurnWait time.Duration
	// KeyPrefix and CodePrefix start every API key and every connect code.
	KeyPrefix, CodePrefix string
	// RateLimits is whether requests are limited.
	RateLimits bool
	// EventStreams is how many event streams one credential may hold open at once.
	EventStreams int
	// Contact is an e-mail address that public catalogues are told, so that they can write before they lock us out.
	Contact string
	// OutboundPrivate is whether webhooks, sources and the documents of OAuth clients may reach private and loopback addresses, and webhooks and sources plain HTTP.
	OutboundPrivate bool
	// TrustedProxies are the networks whose X-Forwarded-For and X-Forwarded-Proto are believed.
	TrustedProxies []netip.Prefix
	// ShutdownTimeout is how long open requests may take to end when the server stops.
	ShutdownTimeout time.Duration
	// Imports are the limits of what fills sources.
	Imports Imports
	// ExportDays is how many days the export of an account can be downloaded.
	ExportDays int
	// SecretKey is the key of keyed hashes and of stored secrets; empty means that one is kept in the data folder.
	SecretKey string
	// Embeddings is the endpoint that makes vectors of texts.
	Embeddings Embeddings
	// Model is the language model that answers.
	Model Model
	// SearchPrices are what a search of each paid service counts as, in millionths of a dollar.
	SearchPrices map[string]int64
	// TOTP is whether people may set up an authenticator app.
	TOTP bool
	// OIDC is another provider to sign in with.
	OIDC OIDC
	// DefaultPlan is what new accounts get: the name of a plan, or none.
	DefaultPlan string
	// Plans are those that the settings file declares.
	Plans []Plan
	// Stripe is where plans are paid for.
	Stripe Stripe

	// Warnings are sentences about things that look like mistakes but stop nothing, such as an unknown variable.
	Warnings []string

	sources map[string]Source
}

// Embeddings are the settings of an OpenAI-compatible endpoint for embeddings.
type Embeddings struct {
	// URL is what "/embeddings" is added to, without a trailing slash. URL and Model are both set or neither.
	URL, Model string
	// Key is sent as a bearer token; empty means none.
	Key string
	// Dimensions is how long vectors shall be; 0 means as the model makes them.
	Dimensions int
	// Price is what a million tokens cost, in dollars.
	Price float64
}

// On reports whether there is an endpoint.
func (e Embeddings) On() bool { return e.URL != "" }

// Source is where the value of a setting came from.
type Source string

// The sources, from the weakest to the strongest.
const (
	FromDefault Source = "default"
	FromFile    Source = "file"
	FromEnv     Source = "env"
	FromFlag    Source = "flag"
)

// Setting is one line of `carrel config`. Value never holds a secret.
type Setting struct {
	Name   string `json:"name"`
	Env    string `json:"env"`
	Value  string `json:"value"`
	Source Source `json:"source"`
	Help   string `json:"help"`
}

// Describe lists every setting with its redacted value and where it came from, in the order of the table, and then the
// plans.
func (c Config) Describe() []Setting {
	out := make([]Setting, 0, len(table))
	for _, s := range table {
		from := c.sources[s.name]
		if from == "" {
			from = FromDefault
		}
		out = append(out, Setting{
			Name: s.name, Env: s.env(), Value: s.redacted(s.bind(&c).String()), Source: from, Help: s.help,
		})
	}
	for _, p := range c.Plans {
		out = append(out, Setting{Name: "plan." + p.Name, Value: p.String(), Source: FromFile, Help: "A plan of the settings file."})
	}
	return out
}

// String shows the settings as `carrel config` does, so that printing the struct by accident gives nothing away.
func (c Config) String() string {
	var b strings.Builder
	for _, s := range c.Describe() {
		b.WriteString(s.Name + "=" + s.Value + "\n")
	}
	return b.String()
}

// LogValue is String for the log.
func (c Config) LogValue() slog.Value {
	settings := c.Describe()
	attrs := make([]slog.Attr, 0, len(settings))
	for _, s := range settings {
		attrs = append(attrs, slog.String(s.Name, s.Value))
	}
	return slog.GroupValue(attrs...)
}

// Defaults lists every setting with its default, for the help texts of the flags.
func Defaults() []Setting {
	out := make([]Setting, 0, len(table))
	for _, s := range table {
		out = append(out, Setting{Name: s.name, Env: s.env(), Value: s.def, Source: FromDefault, Help: s.help})
	}
	return out
}

// TLS reports whether the server itself speaks TLS.
func (c Config) TLS() bool { return c.TLSCert != "" }

// Bound returns the settings of a server that listens on this address: with port 0 in Addr the real port is known
// only then. A base URL that nobody set follows.
func (c Config) Bound(addr string) Config {
	c.Addr = addr
	if from := c.sources["base-url"]; from == "" || from == FromDefault {
		c.BaseURL = baseURL(addr, c.TLS())
	}
	return c
}

// baseURL is the address under which a client on this machine reaches a server that listens on addr.
func baseURL(addr string, tls bool) string {
	scheme := "http://"
	if tls {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return scheme + addr
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + net.JoinHostPort(host, port)
}
