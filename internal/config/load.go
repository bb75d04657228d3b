package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// LoadOptions is where settings come from beside their defaults.
type LoadOptions struct {
	// Getenv reads a variable, as os.Getenv does. An empty variable counts as not set. Nil means no environment.
	Getenv func(string) string
	// Environ is the whole environment, as os.Environ gives it. It serves one purpose, to warn of variables that
	// start as ours do and are none of ours; nil means no warnings.
	Environ []string
	// File is the settings file. Empty means the one that CARREL_CONFIG names, else carrel.conf in the data folder
	// if there is one.
	File string
	// Overrides are what flags set, by name of the setting. An empty value here is a value.
	Overrides map[string]string
}

// fileName is the settings file that is looked for in the data folder.
const fileName = "carrel.conf"

// layer is what one source sets, by name.
type layer struct {
	from   Source
	values map[string]string
	// plans are those that a settings file declares.
	plans []Plan
	// label names a setting the way its source spells it, so that a message points at what to change.
	label func(name string) string
}

// Load gathers the settings, the stronger source over the weaker, and checks them. Its error names everything that
// is wrong at once, each with what to do.
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
		c.BaseURL = baseURL(c.Addr, c.TLS())
	}
	c.Warnings = slices.Concat(unknownVariables(opts.Environ), c.Embeddings.warnings(), c.Model.warnings(), c.OIDC.warnings(), c.Stripe.warnings())
	return c, nil
}

// pick returns the value of a setting from the strongest layer that has it, and what to call it in a message.
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

// readSecret reads a secret from its own file. Editors and echo end a file with a newline, which is not part of it.
func readSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", errors.New("must name a file that exists")
	case err != nil:
		return "", fmt.Errorf("can't be read: %w", err)
	}
	secret := strings.TrimRight(string(b), "\r\n")
	if secret == "" {
		return "", errors.New("names a file that is empty")
	}
	return secret, nil
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

// fileLayer finds and reads the settings file. One that was asked for must exist; the one in the data folder may.
func fileLayer(opts LoadOptions, env, flags layer, probs *Problems) layer {
	path := opts.File
	if path == "" {
		path = opts.Getenv(envConfig)
	}
	asked := path != ""
	if !asked {
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
	case errors.Is(err, os.ErrNotExist) && !asked:
		return l
	case errors.Is(err, os.ErrNotExist):
		probs.add("the settings file %s does not exist; create it or correct --config or %s", path, envConfig)
		return l
	case err != nil:
		probs.add("the settings file can't be read: %v", err)
		return l
	}
	l.values, l.plans = parseFile(path, string(b), probs)
	if _, ok := l.values["data"]; ok && !asked {
		probs.add("%s can't be set in a settings file that lies in the data folder; use --data or CARREL_DATA", l.label("data"))
	}
	return l
}

func defaultOf(name string) string {
	for _, s := range table {
		if s.name == name {
			return s.def
		}
	}
	return ""
}

// checkTogether holds the rules that more than one setting takes part in.
func (c Config) checkTogether() Problems {
	var probs Problems
	if (c.TLSCert == "") != (c.TLSKey == "") {
		probs.add("tls-cert and tls-key go together; set both or neither")
	}
	if c.Demo && !loopback(c.Addr) {
		probs.add("demo makes an account that anybody can use, so addr must be a loopback address such as 127.0.0.1:8080")
	}
	if c.MetricsAddr != "" && c.MetricsAddr == c.Addr && !strings.HasSuffix(c.Addr, ":0") {
		probs.add("metrics-addr must not be the same as addr; choose another port")
	}
	// Keys and codes are told apart by what stands before the underscore, so it is enough that the two differ:
	// "crl_" does not start "crlc_…".
	if c.KeyPrefix == c.CodePrefix {
		probs.add("key-prefix and code-prefix must differ")
	}
	if (c.Embeddings.URL == "") != (c.Embeddings.Model == "") {
		probs.add("embeddings-url and embeddings-model go together; set both or neither")
	}
	return slices.Concat(probs, c.Model.problems(), c.OIDC.problems(), c.Stripe.problems())
}

// loopback reports whether only this machine can reach the address.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// Problems is everything that is wrong with the settings, each as a sentence that says what to do.
type Problems []string

func (p *Problems) add(format string, args ...any) {
	*p = append(*p, fmt.Sprintf(format, args...))
}

// Error lists the problems, one a line.
func (p Problems) Error() string {
	if len(p) == 1 {
		return "wrong setting: " + p[0]
	}
	return "wrong settings:\n  - " + strings.Join(p, "\n  - ")
}
