package config

import (
	"flag"
	"strings"
)

// setting is one row of the table. The names of the variable, of the key in the settings file and of the flag all
// follow from name.
type setting struct {
	name string
	help string
	def  string
	// secret says that the value may come from a file of its own (NAME_FILE) and is never shown.
	secret bool
	// redact shows what may be shown of a secret; nil hides all of it.
	redact func(string) string
	// bind returns the field that the setting fills. The value knows how to read, check and print itself.
	bind func(*Config) flag.Value
}

// table is every setting there is, in the order in which they are shown.
var table = []setting{
	{
		name: "addr", def: "127.0.0.1:8080", help: "Address and port to listen on.",
		bind: func(c *Config) flag.Value { return checked{&c.Addr, checkAddr} },
	},
	{
		name: "data", def: "carrel-data", help: "Folder that holds the database, the index and the keys.",
		bind: func(c *Config) flag.Value { return checked{&c.Data, checkNotEmpty} },
	},
	{
		name: "base-url", help: "Address that clients use, such as https://carrel.example.org. Follows addr when not set.",
		bind: func(c *Config) flag.Value { return checked{&c.BaseURL, checkBaseURL} },
	},
	{ //nolint:gosec // the password is part of an example
		name: "database", secret: true, redact: redactURL,
		help: "PostgreSQL to keep everything in, as postgres://user:password@host/name. Empty means SQLite in the data folder.",
		bind: func(c *Config) flag.Value { return checked{&c.Database, checkDatabase} },
	},
	{
		name: "tls-cert", help: "Certificate chain (PEM file) to serve HTTPS with. Needs tls-key.",
		bind: func(c *Config) flag.Value { return checked{&c.TLSCert, checkFile} },
	},
	{
		name: "tls-key", help: "Private key (PEM file) of tls-cert.",
		bind: func(c *Config) flag.Value { return checked{&c.TLSKey, checkFile} },
	},
	{
		name: "demo", def: "false", help: "Start with a sample account, agent and library. Loopback addresses only.",
		bind: func(c *Config) flag.Value { return (*boolean)(&c.Demo) },
	},
	{
		name: "metrics-addr", help: "Address and port to serve Prometheus metrics on. Empty means off.",
		bind: func(c *Config) flag.Value { return checked{&c.MetricsAddr, checkOptionalAddr} },
	},
	{
		name: "log-level", def: "info", help: "Least level to log: debug, info, warn or error.",
		bind: func(c *Config) flag.Value { return (*level)(&c.LogLevel) },
	},
	{
		name: "log-format", def: "auto", help: "Form of the log: text, json, or auto (text on a terminal, else json).",
		bind: func(c *Config) flag.Value { return checked{&c.LogFormat, oneOf("auto", "text", "json")} },
	},
	{
		name: "turn-wait", def: "25s", help: "How long a sent message waits for its reply before it is answered with 202.",
		bind: func(c *Config) flag.Value { return (*duration)(&c.TurnWait) },
	},
	{
		name: "key-prefix", def: "crl", help: "What every API key starts with.",
		bind: func(c *Config) flag.Value { return checked{&c.KeyPrefix, checkPrefix} },
	},
	{
		name: "code-prefix", def: "crlc", help: "What every connect code starts with.",
		bind: func(c *Config) flag.Value { return checked{&c.CodePrefix, checkPrefix} },
	},
	{
		name: "rate-limits", def: "on", help: "Limit requests per credential and address: on or off.",
		bind: func(c *Config) flag.Value { return (*onOff)(&c.RateLimits) },
	},
	{
		name: "event-streams", def: "100", help: "Event streams that one credential may hold open at once, of turns, imports and MCP together.",
		bind: func(c *Config) flag.Value { return count{&c.EventStreams, 1, 1_000_000} },
	},
	{
		name: "contact", help: "E-mail address that is told to the public catalogues that sources search, as they ask for. Empty means none is.",
		bind: func(c *Config) flag.Value { return checked{&c.Contact, checkContact} },
	},
	{
		name: "outbound-private", def: "off", help: "Let webhooks, sources and the documents of OAuth clients reach private and loopback addresses, and webhooks and sources plain HTTP: on or off.",
		bind: func(c *Config) flag.Value { return (*onOff)(&c.OutboundPrivate) },
	},
	{
		name: "trusted-proxies", help: "Networks of reverse proxies to believe X-Forwarded-For and -Proto from, as 10.0.0.0/8,::1/128.",
		bind: func(c *Config) flag.Value { return (*prefixes)(&c.TrustedProxies) },
	},
	{
		name: "shutdown-timeout", def: "10s", help: "How long open requests may take to end when the server stops.",
		bind: func(c *Config) flag.Value { return (*duration)(&c.ShutdownTimeout) },
	},
	{
		name: "imports-per-user", def: "2", help: "How many imports of one user run at once, on all nodes together, 1 to 1000. The others wait.",
		bind: func(c *Config) flag.Value { return count{&c.Imports.PerUser, 1, 1000} },
	},
	{
		name: "imports-per-node", def: "4", help: "How many imports run on one node at once, 1 to 1000. The others wait.",
		bind: func(c *Config) flag.Value { return count{&c.Imports.PerNode, 1, 1000} },
	},
	{
		name: "import-unpacked-mib", def: "256", help: "How much one upload may unpack to, in MiB. It may always unpack to 20 times its own size.",
		bind: func(c *Config) flag.Value { return count{&c.Imports.UnpackedMiB, 16, 1 << 20} },
	},
	{
		name: "import-entries", def: "100000", help: "How many files the archives of one upload may hold, the parts of Word files and books included.",
		bind: func(c *Config) flag.Value { return count{&c.Imports.Entries, 1, 10_000_000} },
	},
	{
		name: "import-depth", def: "4", help: "How deep packed files in one upload may be nested, 1 to 100.",
		bind: func(c *Config) flag.Value { return count{&c.Imports.Depth, 1, 100} },
	},
	{
		name: "import-work", def: "1500", help: "How much work reading one upload may take, in millions of steps of about two nanoseconds. Text that is read earns more.",
		bind: func(c *Config) flag.Value { return count{&c.Imports.Work, 10, 10_000_000} },
	},
	{
		name: "import-memory-mib", def: "160", help: "How much memory documents may take while they are read, in MiB for the whole node. One that needs more waits for the others.",
		bind: func(c *Config) flag.Value { return count{&c.Imports.MemoryMiB, 64, 1 << 20} },
	},
	{
		name: "import-time", def: "5m", help: "How long reading one document may take, by the clock, 1s to 24h: a backstop to import-work.",
		bind: func(c *Config) flag.Value { return (*longTime)(&c.Imports.Time) },
	},
	{
		name: "export-days", def: "7", help: "How many days the export of an account can be downloaded, 1 to 365.",
		bind: func(c *Config) flag.Value { return (*days)(&c.ExportDays) },
	},
	{
		name: "secret-key", secret: true, help: "Key of the hashes of credentials, and of stored secrets. Empty means one kept in the data folder.",
		bind: func(c *Config) flag.Value { return checked{&c.SecretKey, checkSecretKey} },
	},
	{
		name: "embeddings-url", help: "OpenAI-compatible endpoint for embeddings, such as https://api.openai.com/v1. Empty means off. Texts of documents and searches are sent to it.",
		bind: func(c *Config) flag.Value { return checked{&c.Embeddings.URL, checkEmbeddingsURL} },
	},
	{
		name: "embeddings-model", help: "Model to ask embeddings-url for, such as text-embedding-3-small.",
		bind: func(c *Config) flag.Value { return checked{&c.Embeddings.Model, checkModel} },
	},
	{
		name: "embeddings-api-key", secret: true, help: "Key of embeddings-url. Empty means none is sent.",
		bind: func(c *Config) flag.Value { return checked{&c.Embeddings.Key, checkAPIKey} },
	},
	{
		name: "embeddings-dimensions", def: "0", help: "Length of vectors to ask for, with models that let one choose. 0 means the model's own.",
		bind: func(c *Config) flag.Value { return (*dimensions)(&c.Embeddings.Dimensions) },
	},
	{
		name: "embeddings-price", def: "0", help: "Dollars that a million tokens cost at embeddings-url, for the log.",
		bind: func(c *Config) flag.Value { return (*dollars)(&c.Embeddings.Price) },
	},
	{
		name: "model", def: "none", help: "Language model that answers: openai (any server that speaks like it), anthropic, or none, which quotes sources. Questions and parts of documents are sent to it.",
		bind: func(c *Config) flag.Value {
			return checked{&c.Model.API, oneOf("none", "openai", "anthropic")}
		},
	},
	{
		name: "model-base-url", help: "Where the model's provider is, such as http://localhost:11434/v1. Empty means the one that model names.",
		bind: func(c *Config) flag.Value { return checked{&c.Model.BaseURL, checkModelURL} },
	},
	{
		name: "model-api-key", secret: true, help: "Key of the model's provider. Empty means none is sent.",
		bind: func(c *Config) flag.Value { return checked{&c.Model.Key, checkAPIKey} },
	},
	{
		name: "model-name", help: "Model to ask, such as gpt-4o or llama3.1:8b.",
		bind: func(c *Config) flag.Value { return checked{&c.Model.Name, checkModelName} },
	},
	{
		name: "model-allowed", help: "Further models that an agent may choose, with commas between them.",
		bind: func(c *Config) flag.Value { return (*modelNames)(&c.Model.Allowed) },
	},
	{
		name: "model-price-in", help: "Dollars that a million tokens cost that a model reads. With a cap on spending, 10 when not set.",
		bind: func(c *Config) flag.Value { return (*money)(&c.Model.PriceIn) },
	},
	{
		name: "model-price-out", help: "Dollars that a million tokens cost that a model writes. With a cap on spending, 30 when not set.",
		bind: func(c *Config) flag.Value { return (*money)(&c.Model.PriceOut) },
	},
	{
		name: "model-prices", help: "Prices of single models, dollars for a million tokens read and written, as gpt-4o=2.50/10,llama3.1:8b=0/0.",
		bind: func(c *Config) flag.Value { return (*priceList)(&c.Model.Prices) },
	},
	{
		name: "search-prices", help: "Dollars that a search of a paid service counts as, where it is not as " + countedSearches + ".",
		bind: func(c *Config) flag.Value { return (*searchPrices)(&c.SearchPrices) },
	},
	{
		name: "totp", def: "on", help: "Offer authenticator apps as a second factor: on or off. Whoever has one is asked for it in any case.",
		bind: func(c *Config) flag.Value { return (*onOff)(&c.TOTP) },
	},
	{
		name: "oidc-issuer", help: "OpenID provider that people may sign in with, such as https://login.example.org. Empty means none.",
		bind: func(c *Config) flag.Value { return checked{&c.OIDC.Issuer, checkIssuer} },
	},
	{
		name: "oidc-client-id", help: "What oidc-issuer knows this installation by.",
		bind: func(c *Config) flag.Value { return checked{&c.OIDC.ClientID, checkAPIKey} },
	},
	{
		name: "oidc-client-secret", secret: true, help: "Secret of oidc-client-id. Empty means a public client.",
		bind: func(c *Config) flag.Value { return checked{&c.OIDC.ClientSecret, checkAPIKey} },
	},
	{
		name: "oidc-name", help: "What people know oidc-issuer by, for the button. Empty means its host.",
		bind: func(c *Config) flag.Value { return checked{&c.OIDC.Name, checkLabel} },
	},
	{
		name: "oidc-signup", def: "false", help: "Make an account for whoever oidc-issuer knows and who has none: true or false.",
		bind: func(c *Config) flag.Value { return (*boolean)(&c.OIDC.SignUp) },
	},
	{
		name: "default-plan", def: "open", help: "Plan that new accounts get, or none: they buy one, or an admin gives them one.",
		bind: func(c *Config) flag.Value { return checked{&c.DefaultPlan, checkPlanName} },
	},
	{
		name: "stripe-secret-key", secret: true, help: "Secret key (sk_… or rk_…) of the Stripe account that plans are paid through. Empty means that nothing is sold.",
		bind: func(c *Config) flag.Value { return checked{&c.Stripe.SecretKey, checkStripeKey} },
	},
	{
		name: "stripe-webhook-secret", secret: true, help: "Secret (whsec_…) of the webhook at Stripe that calls <base URL>/api/billing/stripe. Two, with a comma, while one takes the place of the other.",
		bind: func(c *Config) flag.Value { return (*stripeSecrets)(&c.Stripe.WebhookSecrets) },
	},
	{
		name: "stripe-grace-days", def: "7", help: "For how many days an account is served after a payment that failed, or while the word of a renewal is late.",
		bind: func(c *Config) flag.Value { return (*daysOrNone)(&c.Stripe.GraceDays) },
	},
	{
		name: "stripe-trial-days", def: "0", help: "For how many days the first subscription of an account costs nothing.",
		bind: func(c *Config) flag.Value { return (*daysOrNone)(&c.Stripe.TrialDays) },
	},
	{
		name: "stripe-url", def: "https://api.stripe.com", help: "Where Stripe's API is; another one is for tests.",
		bind: func(c *Config) flag.Value { return checked{&c.Stripe.URL, checkStripeURL} },
	},
}

// envPrefix starts every variable of ours, and envConfig names the settings file.
const (
	envPrefix = "CARREL_"
	envConfig = "CARREL_CONFIG"
)

// fileSuffix turns the name of a secret into the name of the file that holds it.
const fileSuffix = "-file"

func envName(name string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func (s setting) env() string { return envName(s.name) }

// redacted returns what may be shown of the value.
func (s setting) redacted(value string) string {
	switch {
	case !s.secret || value == "":
		return value
	case s.redact != nil:
		return s.redact(value)
	}
	return "[redacted]"
}

// names lists what a source may set: every setting, and the file of every secret.
func names() []string {
	out := make([]string, 0, len(table)+4)
	for _, s := range table {
		out = append(out, s.name)
		if s.secret {
			out = append(out, s.name+fileSuffix)
		}
	}
	return out
}
