// Package config loads the settings of an installation from defaults, a settings file, the environment and flags. One
// table (settings.go) describes every setting; loading, help texts and `carrel config` are derived from it.
package config

import (
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"
)

// Config holds all settings, validated. Load returns one; the zero value is not usable.
type Config struct {
	// Addr is the address that the server listens on.
	Addr string
	// Data is the data folder.
	Data string
	// BaseURL is the public URL of the server, without a trailing slash.
	BaseURL string
	// Database is a PostgreSQL URL; empty means SQLite in Data.
	Database string
	// Postgres are the settings of the connections to Database.
	Postgres Postgres
	// TLSCert and TLSKey are PEM files; both are set or neither.
	TLSCert, TLSKey string
	// ACME are the settings for certificates that the server gets by itself.
	ACME ACME
	// RedirectAddr is the address of plain HTTP that redirects to HTTPS; empty means off.
	RedirectAddr string
	// CORSOrigins are the origins whose pages may call the REST API with a bearer credential; "*" is any.
	CORSOrigins []string
	// Demo fills an empty data folder with the sample library.
	Demo bool
	// ReadyWhileIndexing makes a node ready although its index is incomplete.
	ReadyWhileIndexing bool
	// MetricsAddr is the address of the Prometheus metrics; empty means off.
	MetricsAddr string
	// OTLP are the settings of an OpenTelemetry collector.
	OTLP OTLP
	// LogLevel is the minimum level of the log.
	LogLevel slog.Level
	// LogFormat is "auto", "text" or "json".
	LogFormat string
	// TurnWait is the time that sending a message waits for the reply before it returns 202.
	TurnWait time.Duration
	// KeyPrefix and CodePrefix are the prefixes of API keys and connect codes.
	KeyPrefix, CodePrefix string
	// RateLimits enables rate limits.
	RateLimits bool
	// EventStreams is the maximum number of open event streams of a credential.
	EventStreams int
	// Contact is an e-mail address that is sent to public catalogues, so that they can complain before they block us.
	Contact string
	// OutboundPrivate allows webhooks, sources and the metadata documents of OAuth clients to use private and loopback
	// addresses, and webhooks and sources to use plain HTTP.
	OutboundPrivate bool
	// ZoteroStorage is the folder with the files of a Zotero program on this machine, which its local API names; empty
	// means that they are not read.
	ZoteroStorage string
	// TrustedProxies are the networks whose X-Forwarded-For and X-Forwarded-Proto headers are trusted.
	TrustedProxies []netip.Prefix
	// ShutdownTimeout is the time that open requests have to end at shutdown.
	ShutdownTimeout time.Duration
	// Retention are the days for which records are kept.
	Retention Retention
	// Turns are the limits of concurrent turns.
	Turns Turns
	// Imports are the limits of imports.
	Imports Imports
	// CompleteMetadata looks up the DOI or arXiv identifier of imported documents in public catalogues.
	CompleteMetadata bool
	// OCR are the settings for pages that are images.
	OCR OCR
	// Originals are the settings for the original files of documents.
	Originals Originals
	// Backup are the settings of backups.
	Backup Backup
	// ExportDays is the number of days for which an account export can be downloaded.
	ExportDays int
	// SecretKey is the key for hashes of credentials and for stored secrets; empty means a key in the data folder.
	SecretKey string
	// SecretKeyPrevious are earlier values of SecretKey.
	SecretKeyPrevious []string
	// Embeddings are the settings of vectors.
	Embeddings Embeddings
	// Model is the language model.
	Model Model
	// Search are the settings of an OpenSearch cluster.
	Search Search
	// SearchPrices are the prices of a search by paid service, in millionths of a dollar.
	SearchPrices map[string]int64
	// ShareLinks allows users to share threads with links.
	ShareLinks bool
	// TOTP allows users to set up an authenticator app.
	TOTP bool
	// OIDC is an OpenID provider to sign in with.
	OIDC OIDC
	// DefaultPlan is the name of the plan of new accounts, or "none".
	DefaultPlan string
	// Plans are declared in the settings file.
	Plans []Plan
	// Stripe is the account that plans are paid through.
	Stripe Stripe

	// Warnings are likely mistakes that do not prevent the start, such as an unknown variable.
	Warnings []string

	sources map[string]Source
}

// Embeddings are the settings of vectors: of the built-in model, or of an OpenAI-compatible endpoint.
type Embeddings struct {
	// Mode is "builtin" or "off". An endpoint replaces the built-in model.
	Mode string
	// Weight is the weight of vectors in the ranking; 0 means the default of the model. See FusionWeight.
	Weight float64
	// URL is the address without "/embeddings" and a trailing slash. URL and Model are both set or neither.
	URL, Model string
	// Key is sent as a bearer token; empty means none.
	Key string
	// Dimensions is the requested length of vectors; 0 means the default of the model.
	Dimensions int
	// Price is the price of a million tokens in dollars.
	Price float64
}

// Source is the origin of the value of a setting.
type Source string

// Sources, in increasing order of precedence.
const (
	FromDefault Source = "default"
	FromFile    Source = "file"
	FromEnv     Source = "env"
	FromFlag    Source = "flag"
)

// Setting is one line of `carrel config`. Secrets in Value are redacted.
type Setting struct {
	Name   string `json:"name"`
	Env    string `json:"env"`
	Value  string `json:"value"`
	Source Source `json:"source"`
	Help   string `json:"help"`
}

// Describe returns all settings with their redacted values and sources, in the order of the table, followed by the
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
		out = append(out, Setting{
			Name: "plan." + p.Name, Value: p.String(), Source: FromFile,
			Help: "Plan in the settings file.",
		})
	}
	return out
}

// String returns the redacted settings, so that printing a Config does not leak secrets.
func (c Config) String() string {
	var b strings.Builder
	for _, s := range c.Describe() {
		b.WriteString(s.Name + "=" + s.Value + "\n")
	}
	return b.String()
}

// LogValue implements slog.LogValuer with redacted settings.
func (c Config) LogValue() slog.Value {
	settings := c.Describe()
	attrs := make([]slog.Attr, 0, len(settings))
	for _, s := range settings {
		attrs = append(attrs, slog.String(s.Name, s.Value))
	}
	return slog.GroupValue(attrs...)
}

// Defaults returns all settings with their defaults, for the help texts of flags.
func Defaults() []Setting {
	out := make([]Setting, 0, len(table))
	for _, s := range table {
		out = append(out, Setting{Name: s.name, Env: s.env(), Value: s.def, Source: FromDefault, Help: s.help})
	}
	return out
}

// TLS reports whether the server serves HTTPS.
func (c Config) TLS() bool { return c.TLSCert != "" || len(c.ACME.Domains) > 0 }

// defaultBaseURL returns the base URL of a server that listens on addr.
func (c Config) defaultBaseURL(addr string) string {
	if len(c.ACME.Domains) > 0 {
		return c.ACME.baseURL(addr)
	}
	return baseURL(addr, c.TLS())
}

// Bound returns the settings with the actual address of a listening server, which differs from Addr if its port is 0. A
// base URL that is not set is derived from it.
func (c Config) Bound(addr string) Config {
	c.Addr = addr
	if from := c.sources["base-url"]; from == "" || from == FromDefault {
		c.BaseURL = c.defaultBaseURL(addr)
	}
	return c
}

// baseURL returns the URL of a server that listens on addr, for clients on the same machine.
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
