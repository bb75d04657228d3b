package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"carrel/internal/core"
)

// LoadOptions are the sources of settings.
type LoadOptions struct {
	// Getenv reads a variable, like os.Getenv. An empty variable counts as unset. Nil means no environment.
	Getenv func(string) string
	// Environ is the environment in the form of os.Environ. It is only used to warn of unknown CARREL_ variables; nil
	// means no warnings.
	Environ []string
	// File is the path of the settings file. Empty means the value of CARREL_CONFIG, else carrel.conf in the data
	// folder if it exists.
	File string
	// Overrides are the values of flags by name of the setting. An empty value counts as set.
	Overrides map[string]string
}

// fileName is the name of the settings file in the data folder.
const fileName = "carrel.conf"

// layer holds the values of one source, by name of the setting.
type layer struct {
	from   Source
	values map[string]string
	// plans are declared in a settings file.
	plans []Plan
	// label returns the name of a setting in the spelling of the source, for error messages.
	label func(name string) string
}

// Load merges the sources by precedence and validates the settings. Its error lists all problems and their remedies.
func Load(opts LoadOptions) (Config, error) {
	if opts.Getenv == nil {
		opts.Getenv = func(string) string { return "" }
	}
	var c Config
	var probs Problems
	env, flags := envLayer(opts.Getenv), flagLayer(opts.Overrides, &probs)
	file := fileLayer(opts, env, flags, &probs)
	c.Plans = file.plans

	c.sources = make(map[string]Source, len(table))
	for _, s := range table {
		value, label, from := pick(s, []layer{flags, env, file}, &probs)
		c.sources[s.name] = from
		if err := s.bind(&c).Set(value); err != nil {
			probs.add("%s %v", label, err)
		}
	}
	if len(probs) == 0 {
		probs = c.checkTogether()
	}
	if len(probs) > 0 {
		return Config{}, probs
	}
	if c.BaseURL == "" {
		c.BaseURL = c.defaultBaseURL(c.Addr)
	}
	c.Warnings = slices.Concat(
		unknownVariables(opts.Environ), c.tlsWarnings(), c.Originals.warnings(), c.Search.warnings(),
		c.Embeddings.warnings(), c.Model.warnings(), c.OIDC.warnings(), c.Stripe.warnings(),
		c.OTLP.warnings(),
	)
	return c, nil
}

// pick returns the value of a setting from the first layer that sets it, and its label for error messages.
func pick(s setting, layers []layer, probs *Problems) (value, label string, from Source) {
	for _, l := range layers {
		value, plain := l.values[s.name]
		path, inFile := l.values[s.name+fileSuffix]
		switch {
		case plain && inFile && s.secret:
			probs.add("%s and %s are both set; remove one", l.label(s.name), l.label(s.name+fileSuffix))
			return s.def, s.name, l.from
		case plain:
			return value, l.label(s.name), l.from
		case inFile && s.secret:
			secret, err := readSecret(path)
			if err != nil {
				probs.add("%s %v", l.label(s.name+fileSuffix), err)
				return s.def, s.name, l.from
			}
			return secret, l.label(s.name + fileSuffix), l.from
		}
	}
	return s.def, s.name, FromDefault
}

// readSecret reads a secret from a file, without the newline that editors and echo add.
func readSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", errors.New("must name a file that exists")
	case err != nil:
		return "", fmt.Errorf("can't be read: %w", err)
	}
	if err := checkPrivate(path); err != nil {
		return "", err
	}
	secret := strings.TrimRight(string(b), "\r\n")
	if secret == "" {
		return "", errors.New("must name a file that is not empty")
	}
	return secret, nil
}

// checkPrivate refuses a file with a secret that every user of the machine can read.
func checkPrivate(path string) error {
	const othersRead = 0o004
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&othersRead == 0 {
		return err
	}
	return fmt.Errorf("must name a file that only its owner can read; run: chmod 600 %s", core.ShellQuote(path))
}

func envLayer(getenv func(string) string) layer {
	values := map[string]string{}
	for _, name := range names() {
		if v := getenv(envName(name)); v != "" {
			values[name] = v
		}
	}
	return layer{from: FromEnv, values: values, label: envName}
}

func flagLayer(overrides map[string]string, probs *Problems) layer {
	known := names()
	for name := range overrides {
		if !slices.Contains(known, name) {
			probs.add("--%s is not a setting%s", name, suggestion(name, known, "--"))
		}
	}
	return layer{from: FromFlag, values: overrides, label: func(name string) string { return "--" + name }}
}

// fileLayer reads the settings file. An explicitly named file must exist.
func fileLayer(opts LoadOptions, env, flags layer, probs *Problems) layer {
	path := opts.File
	if path == "" {
		path = opts.Getenv(envConfig)
	}
	explicit := path != ""
	if !explicit {
		dir := defaultOf("data")
		for _, l := range []layer{env, flags} {
			if v, ok := l.values["data"]; ok {
				dir = v
			}
		}
		path = filepath.Join(dir, fileName)
	}
	l := layer{from: FromFile, label: func(name string) string { return path + ": " + name }}
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && !explicit:
		return l
	case errors.Is(err, os.ErrNotExist):
		probs.add("the settings file %s does not exist; create it or correct --config or %s", path, envConfig)
		return l
	case err != nil:
		probs.add("the settings file can't be read: %v", err)
		return l
	}
	l.values, l.plans = parseFile(path, string(b), probs)
	if hasSecret(l.values) && checkPrivate(path) != nil {
		probs.add("the settings file has secrets and can be read by every user of this machine; run: chmod 600 %s",
			core.ShellQuote(path))
	}
	if _, ok := l.values["data"]; ok && !explicit {
		probs.add("%s can't be set in a settings file inside the data folder; use --data or CARREL_DATA", l.label("data"))
	}
	return l
}

// hasSecret reports whether one of the values is a secret or contains one, such as a database URL with a password.
func hasSecret(values map[string]string) bool {
	return slices.ContainsFunc(table, func(s setting) bool { return s.redacted(values[s.name]) != values[s.name] })
}

func defaultOf(name string) string {
	for _, s := range table {
		if s.name == name {
			return s.def
		}
	}
	return ""
}

// checkTogether validates combinations of settings.
func (c Config) checkTogether() Problems {
	probs := c.tlsProblems()
	if c.Demo && !loopback(c.Addr) {
		probs.add("demo creates an account with a public password, so addr must be a loopback address such as 127.0.0.1:8080")
	}
	if c.MetricsAddr != "" && c.MetricsAddr == c.Addr && !strings.HasSuffix(c.Addr, ":0") {
		probs.add("metrics-addr must not be the same as addr; choose another port")
	}
	// Keys and codes are distinguished by the part before the underscore, so "crl" and "crlc" do not conflict.
	if c.KeyPrefix == c.CodePrefix {
		probs.add("key-prefix and code-prefix must differ")
	}
	if c.CompleteMetadata && c.Contact == "" {
		probs.add("complete-metadata needs contact, because public catalogues ask for it")
	}
	if (c.Embeddings.URL == "") != (c.Embeddings.Model == "") {
		probs.add("embeddings-url and embeddings-model go together; set both or neither")
	}
	return slices.Concat(probs, c.Postgres.problems(c.Database), c.Originals.problems(), c.Search.problems(),
		c.Backup.problems(), c.Model.problems(), c.OIDC.problems(), c.Stripe.problems())
}

// loopback reports whether the address can be reached only from this machine.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// Problems is the error of Load: all invalid settings, each with its remedy.
type Problems []string

func (p *Problems) add(format string, args ...any) {
	*p = append(*p, fmt.Sprintf(format, args...))
}

// Error implements error. It lists one problem per line.
func (p Problems) Error() string {
	if len(p) == 1 {
		return "invalid setting: " + p[0]
	}
	return "invalid settings:\n  - " + strings.Join(p, "\n  - ")
}
