package config

import (
	"flag"
	"strings"
)

// setting is one row of the table. The names of the variable, the key in the settings file and the flag are derived
// from name.
type setting struct {
	name string
	help string
	def  string
	// secret values are redacted, and may be read from a file (NAME_FILE).
	secret bool
	// redact returns the public part of a secret; nil redacts all of it.
	redact func(string) string
	// bind returns the field of the setting as a flag.Value, which parses, validates and prints it.
	bind func(*Config) flag.Value
}

// table lists all settings in the order of `carrel config`.
var table = []setting{
	{
		name: "addr", def: "127.0.0.1:8080", help: "Address and port to listen on.",
		bind: func(c *Config) flag.Value { return checked{&c.Addr, checkAddr} },
	},
	{
		name: "data", def: "carrel-data", help: "Folder for the database, the index and the keys.",
		bind: func(c *Config) flag.Value { return checked{&c.Data, checkNotEmpty} },
	},
	{
		name: "base-url", help: "Public URL, such as https://carrel.example.org. Derived from addr if not set.",
		bind: func(c *Config) flag.Value { return checked{&c.BaseURL, checkBaseURL} },
	},
	{ //nolint:gosec // the password is part of an example
		name: "database", secret: true, redact: redactURL,
		help: "PostgreSQL URL, postgres://user:password@host/name. Empty means SQLite in the data folder.",
		bind: func(c *Config) flag.Value { return checked{&c.Database, checkDatabase} },
	},
	{
		name: "database-direct", secret: true, redact: redactURL,
		help: "PostgreSQL URL without a connection pooler, for migrations and notifications. Set it if database is a " +
			"pooler in transaction mode, such as pgbouncer.",
		bind: func(c *Config) flag.Value { return checked{&c.Postgres.Direct, checkDatabase} },
	},
	{
		name: "database-connections", def: "20",
		help: "Maximum number of PostgreSQL connections of this node, 2 to 1000. One more receives notifications.",
		bind: func(c *Config) flag.Value { return count{&c.Postgres.Connections, 2, 1000} },
	},
	{
		name: "database-statement-timeout", def: "30s",
		help: "Maximum time of a PostgreSQL statement, 0s to 10m; 0s means no limit. Migrations and bulk writes have none.",
		bind: func(c *Config) flag.Value { return (*duration)(&c.Postgres.StatementTimeout) },
	},
	{
		name: "tls-cert", help: "Certificate chain (PEM file) for HTTPS. Requires tls-key.",
		bind: func(c *Config) flag.Value { return checked{&c.TLSCert, checkFile} },
	},
	{
		name: "tls-key", help: "Private key (PEM file) of tls-cert.",
		bind: func(c *Config) flag.Value { return checked{&c.TLSKey, checkKeyFile} },
	},
	{
		name: "acme-domains",
		help: "Names to get a certificate for from acme-directory, such as carrel.example.org. Setting it accepts the " +
			"terms of the certificate authority. Empty means none.",
		bind: func(c *Config) flag.Value { return (*domainNames)(&c.ACME.Domains) },
	},
	{
		name: "acme-email", help: "E-mail address for notices of the certificate authority. Empty means none.",
		bind: func(c *Config) flag.Value { return checked{&c.ACME.Email, checkContact} },
	},
	{
		name: "acme-directory", def: "https://acme-v02.api.letsencrypt.org/directory",
		help: "Directory URL of the ACME certificate authority.",
		bind: func(c *Config) flag.Value { return checked{&c.ACME.Directory, checkDirectory} },
	},
	{
		name: "redirect-addr",
		help: "Address and port of plain HTTP, such as :80, that redirects to HTTPS and answers http-01 challenges. " +
			"Empty means off.",
		bind: func(c *Config) flag.Value { return checked{&c.RedirectAddr, checkOptionalAddr} },
	},
	{
		name: "cors-origins", def: "*",
		help: "Origins, such as https://app.example.org, whose pages may call the REST API with a bearer credential; " +
			"* means any. Cookies are never accepted from them. Empty means none.",
		bind: func(c *Config) flag.Value { return (*originList)(&c.CORSOrigins) },
	},
	{
		name: "demo", def: "false", help: "Create a sample account, agent and library. Loopback addresses only.",
		bind: func(c *Config) flag.Value { return (*boolean)(&c.Demo) },
	},
	{
		name: "metrics-addr", help: "Address and port for Prometheus metrics. Empty means off.",
		bind: func(c *Config) flag.Value { return checked{&c.MetricsAddr, checkOptionalAddr} },
	},
	{
		name: "otlp-url",
		help: "Address of an OpenTelemetry collector for traces and metrics, such as http://127.0.0.1:4318. " +
			"Empty means off.",
		bind: func(c *Config) flag.Value { return checked{&c.OTLP.URL, checkOTLPURL} },
	},
	{
		name: "otlp-headers", secret: true,
		help: "Headers of requests to otlp-url, such as an API key, in the form name: value, one per line.",
		bind: func(c *Config) flag.Value { return (*headers)(&c.OTLP.Headers) },
	},
	{
		name: "otlp-sample", def: "1",
		help: "Share of the traces that are exported, 0 to 1. Requests with a traceparent header follow its decision.",
		bind: func(c *Config) flag.Value { return (*share)(&c.OTLP.Sample) },
	},
	{
		name: "otlp-interval", def: "1m", help: "Time between exports of the metrics to otlp-url, 1s to 1h.",
		bind: func(c *Config) flag.Value { return (*exportInterval)(&c.OTLP.Interval) },
	},
	{
		name: "ready-while-indexing", def: "off",
		help: "Report a new node as ready at /readyz before its index holds the stored documents: on or off.",
		bind: func(c *Config) flag.Value { return (*onOff)(&c.ReadyWhileIndexing) },
	},
	{
		name: "log-level", def: "info", help: "Minimum log level: debug, info, warn or error.",
		bind: func(c *Config) flag.Value { return (*level)(&c.LogLevel) },
	},
	{
		name: "log-format", def: "auto", help: "Log format: text, json, or auto (text on a terminal, else json).",
		bind: func(c *Config) flag.Value { return checked{&c.LogFormat, oneOf("auto", "text", "json")} },
	},
	{
		name: "turn-wait", def: "25s", help: "How long sending a message waits for the reply before it returns 202.",
		bind: func(c *Config) flag.Value { return (*duration)(&c.TurnWait) },
	},
	{
		name: "key-prefix", def: "crl", help: "Prefix of API keys.",
		bind: func(c *Config) flag.Value { return checked{&c.KeyPrefix, checkPrefix} },
	},
	{
		name: "code-prefix", def: "crlc", help: "Prefix of connect codes.",
		bind: func(c *Config) flag.Value { return checked{&c.CodePrefix, checkPrefix} },
	},
	{
		name: "rate-limits", def: "on", help: "Limit the request rate per credential and address: on or off.",
		bind: func(c *Config) flag.Value { return (*onOff)(&c.RateLimits) },
	},
	{
		name: "event-streams", def: "100",
		help: "Maximum number of open event streams per credential, for turns, imports and MCP together.",
		bind: func(c *Config) flag.Value { return count{&c.EventStreams, 1, 1_000_000} },
	},
	{
		name: "contact",
		help: "E-mail address that is sent to public catalogues, as their terms ask for. Empty means none.",
		bind: func(c *Config) flag.Value { return checked{&c.Contact, checkContact} },
	},
	{
		name: "complete-metadata", def: "off",
		help: "Look up the DOI or arXiv identifier of imported files at Crossref, OpenAlex and arXiv, and complete their " +
			"metadata: on or off. Needs contact.",
		bind: func(c *Config) flag.Value { return (*onOff)(&c.CompleteMetadata) },
	},
	{
		name: "outbound-private", def: "off",
		help: "Allow private and loopback addresses for webhooks, sources and OAuth client metadata, " +
			"and plain HTTP for webhooks and sources: on or off.",
		bind: func(c *Config) flag.Value { return (*onOff)(&c.OutboundPrivate) },
	},
	{
		name: "zotero-storage",
		help: "Folder with the files of a Zotero program on this machine, such as /home/ada/Zotero/storage. Sources of its " +
			"local API read files below it. Empty means that they don't.",
		bind: func(c *Config) flag.Value { return checked{&c.ZoteroStorage, checkAbsolute} },
	},
	{
		name: "trusted-proxies",
		help: "Networks of reverse proxies whose X-Forwarded-For and -Proto headers are trusted, such as " +
			"10.0.0.0/8,::1/128.",
		bind: func(c *Config) flag.Value { return (*prefixes)(&c.TrustedProxies) },
	},
	{
		name: "shutdown-timeout", def: "10s", help: "How long open requests may take to end at shutdown.",
		bind: func(c *Config) flag.Value { return (*duration)(&c.ShutdownTimeout) },
	},
	{
		name: "keep-task-days", def: "30",
		help: "Days for which ended turns and imports keep their steps and events, 1 to 36500. Messages are kept.",
		bind: func(c *Config) flag.Value { return count{&c.Retention.TaskDays, 1, maxKeepDays} },
	},
	{
		name: "keep-ledger-days", def: "400",
		help: "Days for which the ledger has every paid call. Older calls are summed by day. 0 means for ever.",
		bind: func(c *Config) flag.Value { return count{&c.Retention.LedgerDays, 0, maxKeepDays} },
	},
	{
		name: "keep-audit-days", def: "730",
		help: "Days for which the audit log is kept. 0 means for ever.",
		bind: func(c *Config) flag.Value { return count{&c.Retention.AuditDays, 0, maxKeepDays} },
	},
	{
		name: "bin-days", def: "30",
		help: "Days for which deleted threads, memories, favourites and documents can be restored. 0 deletes them at once.",
		bind: func(c *Config) flag.Value { return count{&c.Retention.BinDays, 0, maxKeepDays} },
	},
	{
		name: "turns-per-user", def: "4",
		help: "Concurrent turns per user on all nodes together, up to 1000. Further turns wait. 0 means no limit.",
		bind: func(c *Config) flag.Value { return count{&c.Turns.PerUser, 0, 1000} },
	},
	{
		name: "turns-per-node", def: "64",
		help: "Concurrent turns per node, up to 10000. Further turns wait. 0 means no limit.",
		bind: func(c *Config) flag.Value { return count{&c.Turns.PerNode, 0, 10_000} },
	},
	{
		name: "imports-per-user", def: "2",
		help: "Concurrent imports per user on all nodes together, 1 to 1000. Further imports wait.",
		bind: func(c *Config) flag.Value { return count{&c.Imports.PerUser, 1, 1000} },
	},
	{
		name: "imports-per-node", def: "4", help: "Concurrent imports per node, 1 to 1000. Further imports wait.",
		bind: func(c *Config) flag.Value { return count{&c.Imports.PerNode, 1, 1000} },
	},
	{
		name: "import-unpacked-mib", def: "256",
		help: "Maximum unpacked size of an upload in MiB. 20 times the size of the upload is always allowed.",
		bind: func(c *Config) flag.Value { return count{&c.Imports.UnpackedMiB, 16, 1 << 20} },
	},
	{
		name: "import-entries", def: "100000",
		help: "Maximum number of files in the archives of an upload, including the parts of Word files and books.",
		bind: func(c *Config) flag.Value { return count{&c.Imports.Entries, 1, 10_000_000} },
	},
	{
		name: "import-depth", def: "4", help: "Maximum nesting of archives in an upload, 1 to 100.",
		bind: func(c *Config) flag.Value { return count{&c.Imports.Depth, 1, 100} },
	},
	{
		name: "import-work", def: "1500",
		help: "Maximum work for parsing an upload, in millions of steps of about two nanoseconds. " +
			"The limit grows with the extracted text.",
		bind: func(c *Config) flag.Value { return count{&c.Imports.Work, 10, 10_000_000} },
	},
	{
		name: "import-memory-mib", def: "160",
		help: "Memory for parsing documents in MiB per node. Documents wait until enough memory is free.",
		bind: func(c *Config) flag.Value { return count{&c.Imports.MemoryMiB, 64, 1 << 20} },
	},
	{
		name: "import-time", def: "5m",
		help: "Maximum time for parsing one document, 1s to 24h, in addition to import-work.",
		bind: func(c *Config) flag.Value { return (*longTime)(&c.Imports.Time) },
	},
	{
		name: "ocr", def: "off",
		help: "Text recognition of PDF pages that are images: off, tesseract (the command of this name), or the URL of a " +
			"service that takes images and returns text.",
		bind: func(c *Config) flag.Value { return checked{&c.OCR.Engine, checkOCR} },
	},
	{
		name: "ocr-key", secret: true, help: "Bearer token for the service in ocr.",
		bind: func(c *Config) flag.Value { return checked{&c.OCR.Key, checkAPIKey} },
	},
	{
		name: "ocr-languages", def: "eng", help: "Languages of scanned pages by the names of tesseract, such as eng+deu.",
		bind: func(c *Config) flag.Value { return checked{&c.OCR.Languages, checkOCRLanguages} },
	},
	{
		name: "ocr-time", def: "1m", help: "Maximum time for recognizing one image, 1s to 24h.",
		bind: func(c *Config) flag.Value { return (*longTime)(&c.OCR.Time) },
	},
	{
		name: "originals", def: "on",
		help: "Keep the original files of imported documents: on or off. They count in the storage of a plan.",
		bind: func(c *Config) flag.Value { return (*onOff)(&c.Originals.Keep) },
	},
	{
		name: "originals-bucket",
		help: "S3 bucket for original files, which all nodes share. Empty means a folder in the data folder.",
		bind: func(c *Config) flag.Value { return checked{&c.Originals.Bucket, checkBucket} },
	},
	{
		name: "originals-endpoint",
		help: "Address of an S3-compatible store, such as https://minio.example.org. Empty means Amazon.",
		bind: func(c *Config) flag.Value { return checked{&c.Originals.Endpoint, checkEndpoint} },
	},
	{
		name: "originals-region", def: "us-east-1", help: "Region of originals-bucket.",
		bind: func(c *Config) flag.Value { return checked{&c.Originals.Region, checkRegion} },
	},
	{
		name: "originals-prefix", help: "Beginning of the keys in originals-bucket, such as carrel/.",
		bind: func(c *Config) flag.Value { return checked{&c.Originals.Prefix, checkKeyPrefix} },
	},
	{
		name: "originals-access-key-id", help: "Access key for originals-bucket.",
		bind: func(c *Config) flag.Value { return checked{&c.Originals.AccessKeyID, checkAPIKey} },
	},
	{
		name: "originals-secret-access-key", secret: true, help: "Secret of originals-access-key-id.",
		bind: func(c *Config) flag.Value { return checked{&c.Originals.SecretAccessKey, checkAPIKey} },
	},
	{
		name: "backup",
		help: "Where scheduled backups are stored: the absolute path of a folder, or s3://bucket/prefix. Empty means none.",
		bind: func(c *Config) flag.Value { return checked{&c.Backup.Place, checkBackupPlace} },
	},
	{
		name: "backup-every", def: "24h", help: "Interval of scheduled backups, 1m to 168h.",
		bind: func(c *Config) flag.Value { return (*backupInterval)(&c.Backup.Every) },
	},
	{
		name: "backup-keep", def: "7", help: "Number of backups that scheduled backups keep, 1 to 10000.",
		bind: func(c *Config) flag.Value { return count{&c.Backup.Keep, 1, 10_000} },
	},
	{
		name: "backup-endpoint",
		help: "Address of the S3-compatible store of backup, such as https://minio.example.org. Empty means Amazon.",
		bind: func(c *Config) flag.Value { return checked{&c.Backup.Endpoint, checkEndpoint} },
	},
	{
		name: "backup-region", def: "us-east-1", help: "Region of the bucket in backup.",
		bind: func(c *Config) flag.Value { return checked{&c.Backup.Region, checkRegion} },
	},
	{
		name: "backup-access-key-id", help: "Access key for the bucket in backup.",
		bind: func(c *Config) flag.Value { return checked{&c.Backup.AccessKeyID, checkAPIKey} },
	},
	{
		name: "backup-secret-access-key", secret: true, help: "Secret of backup-access-key-id.",
		bind: func(c *Config) flag.Value { return checked{&c.Backup.SecretAccessKey, checkAPIKey} },
	},
	{
		name: "export-days", def: "7", help: "Number of days for which an account export can be downloaded, 1 to 365.",
		bind: func(c *Config) flag.Value { return (*days)(&c.ExportDays) },
	},
	{
		name: "secret-key", secret: true,
		help: "Key for hashes of credentials and for stored secrets. Empty means a key in the data folder.",
		bind: func(c *Config) flag.Value { return checked{&c.SecretKey, checkSecretKey} },
	},
	{
		name: "secret-key-previous", secret: true,
		help: "Earlier values of secret-key, separated by commas. What was stored with them stays valid.",
		bind: func(c *Config) flag.Value { return (*secretKeys)(&c.SecretKeyPrevious) },
	},
	{
		name: "search-url",
		help: "Addresses of an OpenSearch cluster, separated by commas, that indexes and searches the documents. Empty " +
			"means the index in the data folder.",
		bind: func(c *Config) flag.Value { return (*clusterURLs)(&c.Search.URLs) },
	},
	{
		name: "search-user", help: "User name for the OpenSearch cluster. Empty means none.",
		bind: func(c *Config) flag.Value { return checked{&c.Search.User, checkSearchUser} },
	},
	{
		name: "search-password", secret: true, help: "Password of search-user.",
		bind: func(c *Config) flag.Value { return checked{&c.Search.Password, checkSearchPassword} },
	},
	{
		name: "search-ca-file",
		help: "Certificates (PEM file) that sign those of the OpenSearch cluster. Empty means the system's.",
		bind: func(c *Config) flag.Value { return checked{&c.Search.CAFile, checkFile} },
	},
	{
		name: "search-shards", def: "1", help: "Primary shards of a new OpenSearch index, 1 to 100.",
		bind: func(c *Config) flag.Value { return count{&c.Search.Shards, 1, 100} },
	},
	{
		name: "search-replicas", def: "0", help: "Replicas of each shard of a new OpenSearch index, 0 to 10.",
		bind: func(c *Config) flag.Value { return count{&c.Search.Replicas, 0, 10} },
	},
	{
		name: "embeddings", def: "builtin",
		help: "builtin ranks English sources by words and by the vectors of a model in the binary. With embeddings-url, " +
			"the endpoint's vectors replace them, in all languages. off ranks by words alone.",
		bind: func(c *Config) flag.Value {
			return checked{&c.Embeddings.Mode, oneOf(embeddingsBuiltIn, embeddingsOff)}
		},
	},
	{
		name: "embeddings-weight",
		help: "Weight of vectors in the ranking, above 0 and up to 1. Empty means 0.3 for the built-in model and 0.45 for " +
			"embeddings-url.",
		bind: func(c *Config) flag.Value { return (*vectorWeight)(&c.Embeddings.Weight) },
	},
	{
		name: "embeddings-url",
		help: "OpenAI-compatible endpoint for embeddings, such as https://api.openai.com/v1. Empty means none. " +
			"Documents and search queries are sent to it.",
		bind: func(c *Config) flag.Value { return checked{&c.Embeddings.URL, checkEmbeddingsURL} },
	},
	{
		name: "embeddings-model", help: "Embedding model, such as text-embedding-3-small.",
		bind: func(c *Config) flag.Value { return checked{&c.Embeddings.Model, checkModel} },
	},
	{
		name: "embeddings-api-key", secret: true, help: "API key for embeddings-url. Empty means none.",
		bind: func(c *Config) flag.Value { return checked{&c.Embeddings.Key, checkAPIKey} },
	},
	{
		name: "embeddings-dimensions", def: "0",
		help: "Length of vectors, for models that support several. 0 means the default of the model.",
		bind: func(c *Config) flag.Value { return (*dimensions)(&c.Embeddings.Dimensions) },
	},
	{
		name: "embeddings-price", def: "0", help: "Price of a million tokens at embeddings-url in dollars, for the log.",
		bind: func(c *Config) flag.Value { return (*dollars)(&c.Embeddings.Price) },
	},
	{
		name: "model", def: "none",
		help: "API of the language model: openai (or a compatible server), anthropic, or none, which quotes sources. " +
			"Questions and parts of documents are sent to it.",
		bind: func(c *Config) flag.Value {
			return checked{&c.Model.API, oneOf("none", "openai", "anthropic")}
		},
	},
	{
		name: "model-base-url",
		help: "Address of the model API, such as http://localhost:11434/v1. Empty means OpenAI or Anthropic.",
		bind: func(c *Config) flag.Value { return checked{&c.Model.BaseURL, checkModelURL} },
	},
	{
		name: "model-api-key", secret: true, help: "API key for the model. Empty means none.",
		bind: func(c *Config) flag.Value { return checked{&c.Model.Key, checkAPIKey} },
	},
	{
		name: "model-name", help: "Default model, such as gpt-4o or llama3.1:8b.",
		bind: func(c *Config) flag.Value { return checked{&c.Model.Name, checkModelName} },
	},
	{
		name: "model-allowed", help: "Further models that agents may use, separated by commas.",
		bind: func(c *Config) flag.Value { return (*modelNames)(&c.Model.Allowed) },
	},
	{
		name: "model-price-in", help: "Price of a million input tokens in dollars. With a spending cap, 10 if not set.",
		bind: func(c *Config) flag.Value { return (*money)(&c.Model.PriceIn) },
	},
	{
		name: "model-price-out", help: "Price of a million output tokens in dollars. With a spending cap, 30 if not set.",
		bind: func(c *Config) flag.Value { return (*money)(&c.Model.PriceOut) },
	},
	{
		name: "model-prices",
		help: "Prices of single models, dollars per million input and output tokens, such as " +
			"gpt-4o=2.50/10,llama3.1:8b=0/0.",
		bind: func(c *Config) flag.Value { return (*priceList)(&c.Model.Prices) },
	},
	{
		name: "model-idle-time",
		help: "How long a model may send nothing before its call is given up. Empty means 2m, or 10m for a model at a " +
			"loopback or private address.",
		bind: func(c *Config) flag.Value { return (*modelTime)(&c.Model.Idle) },
	},
	{
		name: "turn-time",
		help: "How long a turn may take before it answers with the quotes it has. Empty means 90s, or 15m for a model at " +
			"a loopback or private address.",
		bind: func(c *Config) flag.Value { return (*modelTime)(&c.Model.Turn) },
	},
	{
		name: "research-time",
		help: "The same for turns with research. Empty means 10m, or 1h for a model at a loopback or private address.",
		bind: func(c *Config) flag.Value { return (*modelTime)(&c.Model.Research) },
	},
	{
		name: "model-judge", def: "on",
		help: "Have the model judge whether the citations of an ordinary answer support it, which is one more call: " +
			"on or off. Research turns always do.",
		bind: func(c *Config) flag.Value { return (*onOff)(&c.Model.Judge) },
	},
	{
		name: "search-prices",
		help: "Prices of a search in dollars by paid service. Defaults: " + defaultSearchPrices + ".",
		bind: func(c *Config) flag.Value { return (*searchPrices)(&c.SearchPrices) },
	},
	{
		name: "share-links", def: "on",
		help: "Let users share threads with links that need no account: on or off. Off also stops existing links.",
		bind: func(c *Config) flag.Value { return (*onOff)(&c.ShareLinks) },
	},
	{
		name: "totp", def: "on",
		help: "Offer authenticator apps as a second factor: on or off. Existing ones stay required.",
		bind: func(c *Config) flag.Value { return (*onOff)(&c.TOTP) },
	},
	{
		name: "oidc-issuer",
		help: "OpenID provider to sign in with, such as https://login.example.org. Empty means none.",
		bind: func(c *Config) flag.Value { return checked{&c.OIDC.Issuer, checkIssuer} },
	},
	{
		name: "oidc-client-id", help: "Client id at oidc-issuer.",
		bind: func(c *Config) flag.Value { return checked{&c.OIDC.ClientID, checkAPIKey} },
	},
	{
		name: "oidc-client-secret", secret: true, help: "Client secret at oidc-issuer. Empty means a public client.",
		bind: func(c *Config) flag.Value { return checked{&c.OIDC.ClientSecret, checkAPIKey} },
	},
	{
		name: "oidc-name", help: "Name of oidc-issuer on the sign-in button. Empty means its host.",
		bind: func(c *Config) flag.Value { return checked{&c.OIDC.Name, checkLabel} },
	},
	{
		name: "oidc-signup", def: "false", help: "Create accounts for new users of oidc-issuer: true or false.",
		bind: func(c *Config) flag.Value { return (*boolean)(&c.OIDC.SignUp) },
	},
	{
		name: "default-plan", def: "open",
		help: "Plan of new accounts, or none, which requires users to buy a plan or an admin to assign one.",
		bind: func(c *Config) flag.Value { return checked{&c.DefaultPlan, checkPlanName} },
	},
	{
		name: "stripe-secret-key", secret: true,
		help: "Secret key (sk_… or rk_…) of the Stripe account for payments. Empty means that plans are not sold.",
		bind: func(c *Config) flag.Value { return checked{&c.Stripe.SecretKey, checkStripeKey} },
	},
	{
		name: "stripe-webhook-secret", secret: true,
		help: "Secret (whsec_…) of the Stripe webhook for <base URL>/api/billing/stripe. " +
			"Two secrets, separated by a comma, while you rotate it.",
		bind: func(c *Config) flag.Value { return (*stripeSecrets)(&c.Stripe.WebhookSecrets) },
	},
	{
		name: "stripe-grace-days", def: "7",
		help: "Number of days for which a plan stays active after a failed payment or while a renewal event is late.",
		bind: func(c *Config) flag.Value { return (*daysOrNone)(&c.Stripe.GraceDays) },
	},
	{
		name: "stripe-trial-days", def: "0", help: "Free trial of the first subscription of an account in days.",
		bind: func(c *Config) flag.Value { return (*daysOrNone)(&c.Stripe.TrialDays) },
	},
	{
		name: "stripe-url", def: "https://api.stripe.com",
		help: "Address of Stripe's API. Other addresses are for tests.",
		bind: func(c *Config) flag.Value { return checked{&c.Stripe.URL, checkStripeURL} },
	},
}

// envPrefix is the prefix of variables. envConfig is the variable with the path of the settings file.
const (
	envPrefix = "CARREL_"
	envConfig = "CARREL_CONFIG"
)

// fileSuffix is appended to the name of a secret for the setting with the path of its file.
const fileSuffix = "-file"

func envName(name string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func (s setting) env() string { return envName(s.name) }

// redacted returns the value without secrets.
func (s setting) redacted(value string) string {
	switch {
	case !s.secret || value == "":
		return value
	case s.redact != nil:
		return s.redact(value)
	}
	return "[redacted]"
}

// names returns the names that a source may set: all settings, and the files of secrets.
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
