package config_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/config"
)

// env returns LoadOptions with only an environment, and a data folder without a settings file.
func env(t *testing.T, kv ...string) config.LoadOptions {
	t.Helper()
	vars := map[string]string{"CARREL_DATA": t.TempDir()}
	for i := 0; i < len(kv); i += 2 {
		vars[kv[i]] = kv[i+1]
	}
	opts := config.LoadOptions{Getenv: func(name string) string { return vars[name] }}
	for name, value := range vars {
		opts.Environ = append(opts.Environ, name+"="+value)
	}
	return opts
}

func load(t *testing.T, opts config.LoadOptions) config.Config {
	t.Helper()
	c, err := config.Load(opts)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return c
}

// checkLoad checks that loading an environment fails with an error that contains want, or succeeds if want is empty. It
// returns the error.
func checkLoad(t *testing.T, kv []string, want string) error {
	t.Helper()
	_, err := config.Load(env(t, kv...))
	switch {
	case want == "" && err != nil:
		t.Errorf("%q: %v", kv, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%q: got %v, want an error with %q", kv, err, want)
	}
	return err
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func describe(t *testing.T, c config.Config, name string) config.Setting {
	t.Helper()
	for _, s := range c.Describe() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no setting %s", name)
	return config.Setting{}
}

func TestDefaultsAreValid(t *testing.T) {
	t.Chdir(t.TempDir())
	c := load(t, config.LoadOptions{})
	if c.Addr != "127.0.0.1:8080" || c.BaseURL != "http://127.0.0.1:8080" || c.Data != "carrel-data" {
		t.Errorf("addr %q, base %q, data %q", c.Addr, c.BaseURL, c.Data)
	}
	if c.TurnWait != 25*time.Second || c.ShutdownTimeout != 10*time.Second || !c.RateLimits || c.Demo {
		t.Errorf("wait %v, shutdown %v, limits %v, demo %v", c.TurnWait, c.ShutdownTimeout, c.RateLimits, c.Demo)
	}
	if c.KeyPrefix != "crl" || c.CodePrefix != "crlc" || c.LogLevel != slog.LevelInfo || c.LogFormat != "auto" {
		t.Errorf("prefixes %q %q, log %v %q", c.KeyPrefix, c.CodePrefix, c.LogLevel, c.LogFormat)
	}
}

func TestPrecedenceOfSources(t *testing.T) {
	t.Parallel()
	opts := env(t, "CARREL_LOG_LEVEL", "warn", "CARREL_TURN_WAIT", "3s")
	opts.File = write(t, "c.conf", "log_level = debug\nturn-wait = 2s\nkey-prefix = 'abc' # ours\n\n# done\n")
	opts.Overrides = map[string]string{"turn-wait": "4s"}
	c := load(t, opts)
	for name, want := range map[string]config.Setting{
		"turn-wait":   {Value: "4s", Source: config.FromFlag},
		"log-level":   {Value: "warn", Source: config.FromEnv},
		"key-prefix":  {Value: "abc", Source: config.FromFile},
		"code-prefix": {Value: "crlc", Source: config.FromDefault},
	} {
		if got := describe(t, c, name); got.Value != want.Value || got.Source != want.Source {
			t.Errorf("%s = %q from %s, want %q from %s", name, got.Value, got.Source, want.Value, want.Source)
		}
	}
}

func TestSettingsFileIsFoundByVariableAndInTheDataFolder(t *testing.T) {
	t.Parallel()
	c := load(t, env(t, "CARREL_CONFIG", write(t, "x.conf", `addr = "127.0.0.1:1"`)))
	if c.Addr != "127.0.0.1:1" {
		t.Errorf("by variable: addr %q", c.Addr)
	}
	inData := write(t, "carrel.conf", "addr=127.0.0.1:2")
	c = load(t, env(t, "CARREL_DATA", filepath.Dir(inData)))
	if c.Addr != "127.0.0.1:2" {
		t.Errorf("in the data folder: addr %q", c.Addr)
	}
	if _, err := config.Load(env(t, "CARREL_CONFIG", "/nowhere/x.conf")); err == nil ||
		!strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a file that was asked for and is missing: %v", err)
	}
	bad := write(t, "carrel.conf", "data = elsewhere")
	if _, err := config.Load(env(t, "CARREL_DATA", filepath.Dir(bad))); err == nil ||
		!strings.Contains(err.Error(), "--data") {
		t.Errorf("a file in the data folder that moves it: %v", err)
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	opts := env(t,
		"CARREL_ADDR", "nonsense",
		"CARREL_DATABASE", "host=db password=hunter2",
		"CARREL_SECRET_KEY", "too short to be one",
	)
	opts.File = write(t, "c.conf", "adr = x\nlog-level=\"loud\nno equals sign hunter2\n"+
		"turn-wait = 1s\nturn_wait = 2s\ndemo = maybe\n")
	opts.Overrides = map[string]string{"key-prefix": "9x", "bogus": "1"}
	_, err := config.Load(opts)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"CARREL_ADDR must be", "CARREL_DATABASE must be", "CARREL_SECRET_KEY must have", "--key-prefix must be",
		"--bogus is not a setting",
		"line 1: adr is not a setting; did you mean addr?", "line 2: log-level has an unclosed quote",
		"line 3 must have the form",
		"line 5: turn-wait is set twice", "demo must be true or false",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
	for _, secret := range []string{"hunter2", "too short"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error repeats a secret:\n%v", err)
		}
	}
}

func TestInvalidSettingsAreRefused(t *testing.T) {
	t.Parallel()
	cert := write(t, "cert.pem", "x")
	for _, tc := range []struct {
		kv   []string
		want string // empty: accepted
	}{
		{[]string{"CARREL_ADDR", ":8080"}, ""},
		{[]string{"CARREL_ADDR", "[::1]:0"}, ""},
		{[]string{"CARREL_ADDR", "127.0.0.1"}, "address and a port"},
		{[]string{"CARREL_ADDR", "127.0.0.1:70000"}, "0 to 65535"},
		{[]string{"CARREL_ADDR", "127.0.0.1:http"}, "0 to 65535"},
		{[]string{"CARREL_BASE_URL", "https://a.example/carrel"}, ""},
		{[]string{"CARREL_BASE_URL", "https://a.example/"}, "slash"},
		{[]string{"CARREL_BASE_URL", "https://a.example?x=1"}, "query"},
		{[]string{"CARREL_BASE_URL", "https://a.example#x"}, "fragment"},
		{[]string{"CARREL_BASE_URL", "a.example"}, "absolute http"},
		{[]string{"CARREL_BASE_URL", "ftp://a.example"}, "absolute http"},
		{[]string{"CARREL_BASE_URL", "https://u:p@a.example"}, "absolute http"},
		{[]string{"CARREL_DATABASE", "postgres:///carrel?host=/run/postgresql"}, ""},
		{[]string{"CARREL_DATABASE", "mysql://x"}, "PostgreSQL"},
		{[]string{"CARREL_TLS_CERT", cert, "CARREL_TLS_KEY", cert}, ""},
		{[]string{"CARREL_TLS_CERT", cert}, "go together"},
		{[]string{"CARREL_TLS_CERT", "/nowhere", "CARREL_TLS_KEY", cert}, "exists"},
		{[]string{"CARREL_TLS_CERT", filepath.Dir(cert), "CARREL_TLS_KEY", cert}, "not a folder"},
		{[]string{"CARREL_DEMO", "true"}, ""},
		{[]string{"CARREL_DEMO", "1", "CARREL_ADDR", "localhost:1"}, ""},
		{[]string{"CARREL_DEMO", "true", "CARREL_ADDR", ":8080"}, "loopback"},
		{[]string{"CARREL_DEMO", "true", "CARREL_ADDR", "10.0.0.1:8080"}, "loopback"},
		{[]string{"CARREL_METRICS_ADDR", "127.0.0.1:8080"}, "another port"},
		{[]string{"CARREL_METRICS_ADDR", "x"}, "address and a port"},
		{[]string{"CARREL_LOG_FORMAT", "xml"}, "one of"},
		{[]string{"CARREL_TURN_WAIT", "25"}, "such as 25s"},
		{[]string{"CARREL_TURN_WAIT", "-1s"}, "such as 25s"},
		{[]string{"CARREL_TURN_WAIT", "1h"}, "such as 25s"},
		{[]string{"CARREL_KEY_PREFIX", "a"}, "2 to 16"},
		{[]string{"CARREL_KEY_PREFIX", "abcdefghijklmnopq"}, "2 to 16"},
		{[]string{"CARREL_KEY_PREFIX", "a_b"}, "2 to 16"},
		{[]string{"CARREL_KEY_PREFIX", "same", "CARREL_CODE_PREFIX", "same"}, "differ"},
		{[]string{"CARREL_RATE_LIMITS", "off"}, ""},
		{[]string{"CARREL_EVENT_STREAMS", "1"}, ""},
		{[]string{"CARREL_EVENT_STREAMS", "0"}, "whole number"},
		{[]string{"CARREL_EVENT_STREAMS", "many"}, "whole number"},
		{[]string{"CARREL_RATE_LIMITS", "sometimes"}, "on or off"},
		{[]string{"CARREL_TRUSTED_PROXIES", "10.0.0.0/8, ::1 ,192.0.2.1"}, ""},
		{[]string{"CARREL_TRUSTED_PROXIES", "10.0.0.0/33"}, "networks"},
		{
			[]string{"CARREL_EMBEDDINGS_URL", "https://api.openai.com/v1", "CARREL_EMBEDDINGS_MODEL", "text-embedding-3-small"},
			"",
		},
		{[]string{"CARREL_EMBEDDINGS_URL", "http://[::1]:11434/v1", "CARREL_EMBEDDINGS_MODEL", "hf.co/a/b:Q4 K"}, ""},
		{[]string{"CARREL_EMBEDDINGS_URL", "https://api.openai.com/v1"}, "go together"},
		{[]string{"CARREL_EMBEDDINGS_MODEL", "m"}, "go together"},
		{[]string{"CARREL_EMBEDDINGS_URL", "api.openai.com/v1", "CARREL_EMBEDDINGS_MODEL", "m"}, "absolute http"},
		{[]string{"CARREL_EMBEDDINGS_URL", "https://u:p@a.example/v1", "CARREL_EMBEDDINGS_MODEL", "m"}, "user name"},
		{[]string{"CARREL_EMBEDDINGS_URL", "https://a.example/v1?x=y", "CARREL_EMBEDDINGS_MODEL", "m"}, "query"},
		{[]string{"CARREL_EMBEDDINGS_URL", "https://a.example/v1/", "CARREL_EMBEDDINGS_MODEL", "m"}, "slash"},
		{[]string{"CARREL_EMBEDDINGS_URL", "https://a.example/v1/embeddings", "CARREL_EMBEDDINGS_MODEL", "m"}, "is appended"},
		{[]string{"CARREL_EMBEDDINGS_URL", "https://a.example/v1", "CARREL_EMBEDDINGS_MODEL", "a\nb"}, "name of a model"},
		{[]string{"CARREL_EMBEDDINGS_API_KEY", "sk a"}, "spaces"},
		{[]string{"CARREL_EMBEDDINGS_DIMENSIONS", "512"}, ""},
		{[]string{"CARREL_EMBEDDINGS_DIMENSIONS", "-1"}, "whole number"},
		{[]string{"CARREL_EMBEDDINGS_DIMENSIONS", "8193"}, "whole number"},
		{[]string{"CARREL_EMBEDDINGS", "off"}, ""},
		{[]string{"CARREL_EMBEDDINGS", "none"}, "one of: builtin, off"},
		{[]string{"CARREL_EMBEDDINGS_WEIGHT", "1"}, ""},
		{[]string{"CARREL_EMBEDDINGS_WEIGHT", "1.1"}, "up to 1"},
		{[]string{"CARREL_EMBEDDINGS_WEIGHT", "-0.1"}, "above 0"},
		{[]string{"CARREL_EMBEDDINGS_WEIGHT", "NaN"}, "above 0"},
		{[]string{"CARREL_EMBEDDINGS_PRICE", "0.02"}, ""},
		{[]string{"CARREL_EMBEDDINGS_PRICE", "NaN"}, "dollars"},
		{[]string{"CARREL_EMBEDDINGS_PRICE", "2000"}, "dollars"},
	} {
		checkLoad(t, tc.kv, tc.want)
	}
}

func TestSecretIsReadFromAFile(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("k", 40)
	path := write(t, "key", key+"\r\n")
	if c := load(t, env(t, "CARREL_SECRET_KEY_FILE", path)); c.SecretKey != key {
		t.Errorf("read %q", c.SecretKey)
	}
	for name, opts := range map[string]config.LoadOptions{
		"both set": env(t, "CARREL_SECRET_KEY_FILE", path, "CARREL_SECRET_KEY", key),
		"exists":   env(t, "CARREL_SECRET_KEY_FILE", "/nowhere"),
		"empty":    env(t, "CARREL_SECRET_KEY_FILE", write(t, "empty", "\n")),
	} {
		if _, err := config.Load(opts); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A source of higher precedence may use the other form.
	opts := env(t, "CARREL_SECRET_KEY_FILE", "/nowhere")
	opts.Overrides = map[string]string{"secret-key": key}
	if c := load(t, opts); c.SecretKey != key {
		t.Errorf("override: %q", c.SecretKey)
	}
}

func TestDescribeRedactsSecrets(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("s3cr3t", 8)
	for _, db := range []string{
		"postgres://carrel:hunter2@db.example/carrel?sslmode=disable",
		"postgres://carrel@db.example/carrel?password=hunter2&sslmode=disable",
		"postgres://db.example/carrel?sslpassword=hunter2&sslmode=disable",
		"postgres://db.example/carrel?sslmode=disable&password=hunter2%zz",
	} {
		c := load(t, env(t, "CARREL_DATABASE", db, "CARREL_SECRET_KEY", key))
		if c.Database != db || c.SecretKey != key {
			t.Fatal("the settings themselves are redacted")
		}
		for _, s := range c.Describe() {
			if strings.Contains(s.Value, "hunter2") || strings.Contains(s.Value, "s3cr3t") {
				t.Errorf("%s shows %q", s.Name, s.Value)
			}
		}
		if got := describe(t, c, "database").Value; !strings.Contains(got, "db.example/carrel") {
			t.Errorf("nothing of the database is shown: %q", got)
		}
	}
	c := load(t, env(t, "CARREL_SECRET_KEY", key))
	var out strings.Builder
	slog.New(slog.NewTextHandler(&out, nil)).Info("settings", "config", c)
	if printed := fmt.Sprintf("%v %+v %s", c, c, &out); strings.Contains(printed, "s3cr3t") ||
		!strings.Contains(printed, "127.0.0.1:8080") {
		t.Errorf("printing the struct gives %s", printed)
	}
	if got := describe(t, load(t, env(t)), "secret-key").Value; got != "" {
		t.Errorf("an empty secret is shown as %q", got)
	}
}

func TestEndpointReplacesTheBuiltInEmbeddings(t *testing.T) {
	t.Parallel()
	endpoint := []string{"CARREL_EMBEDDINGS_URL", "https://a.example/v1", "CARREL_EMBEDDINGS_MODEL", "m"}
	for _, c := range []struct {
		settings          []string
		builtIn, endpoint bool
		weight            float64
	}{
		{nil, true, false, 0.3},
		{endpoint, false, true, 0.45},
		{[]string{"CARREL_EMBEDDINGS_WEIGHT", "0.2"}, true, false, 0.2},
		{append([]string{"CARREL_EMBEDDINGS_WEIGHT", "0.2"}, endpoint...), false, true, 0.2},
		{[]string{"CARREL_EMBEDDINGS", "off"}, false, false, 0.3},
	} {
		e := load(t, env(t, c.settings...)).Embeddings
		if e.BuiltIn() != c.builtIn || e.Endpoint() != c.endpoint || e.FusionWeight() != c.weight {
			t.Errorf("%v: %+v with the weight %v", c.settings, e, e.FusionWeight())
		}
	}
	off := load(t, env(t, append([]string{"CARREL_EMBEDDINGS", "off"}, endpoint...)...))
	if off.Embeddings.BuiltIn() || off.Embeddings.Endpoint() || len(off.Warnings) != 1 ||
		!strings.Contains(off.Warnings[0], "embeddings=off") {
		t.Errorf("an endpoint with embeddings=off: %+v, warnings %q", off.Embeddings, off.Warnings)
	}
}

func TestEmbeddingsEndpointIsRead(t *testing.T) {
	t.Parallel()
	file := write(t, "key", "sk-hunter2\n")
	c := load(t, env(
		t, "CARREL_EMBEDDINGS_URL", "http://10.0.0.7:8000/v1", "CARREL_EMBEDDINGS_MODEL", "m",
		"CARREL_EMBEDDINGS_API_KEY_FILE", file,
		"CARREL_EMBEDDINGS_DIMENSIONS", "256", "CARREL_EMBEDDINGS_PRICE", "0.13",
	))
	want := config.Embeddings{
		Mode: "builtin", URL: "http://10.0.0.7:8000/v1", Model: "m", Key: "sk-hunter2", Dimensions: 256, Price: 0.13,
	}
	if !c.Embeddings.Endpoint() || c.Embeddings != want {
		t.Errorf("got %+v, want %+v", c.Embeddings, want)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "use https") {
		t.Errorf("a key over plain http: warnings %q", c.Warnings)
	}
	if printed := c.String(); strings.Contains(printed, "hunter2") || !strings.Contains(printed, "embeddings-price=0.13") {
		t.Errorf("printed as %s", printed)
	}
	for _, kv := range [][]string{
		{
			"CARREL_EMBEDDINGS_URL", "http://localhost:11434/v1", "CARREL_EMBEDDINGS_MODEL", "m", "CARREL_EMBEDDINGS_API_KEY",
			"k",
		},
		{"CARREL_EMBEDDINGS_URL", "http://[::1]:11434/v1", "CARREL_EMBEDDINGS_MODEL", "m", "CARREL_EMBEDDINGS_API_KEY", "k"},
		{"CARREL_EMBEDDINGS_URL", "http://10.0.0.7/v1", "CARREL_EMBEDDINGS_MODEL", "m"},
	} {
		if c := load(t, env(t, kv...)); len(c.Warnings) != 0 {
			t.Errorf("%v: warnings %q", kv, c.Warnings)
		}
	}
	if c := load(t, env(t, "CARREL_EMBEDDINGS_API_KEY", "k")); len(c.Warnings) != 1 ||
		!strings.Contains(c.Warnings[0], "no effect") {
		t.Errorf("a key alone: warnings %q", c.Warnings)
	}
}

func TestDescribeListsEverySettingOnceWithItsVariable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range load(t, env(t)).Describe() {
		if seen[s.Name] || s.Help == "" || s.Env != "CARREL_"+strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_")) {
			t.Errorf("bad row %+v", s)
		}
		seen[s.Name] = true
	}
	if len(seen) != 108 || len(config.Defaults()) != len(seen) {
		t.Errorf("%d settings, %d defaults", len(seen), len(config.Defaults()))
	}
}

func TestUnknownVariableIsAWarningWithASuggestion(t *testing.T) {
	t.Parallel()
	c := load(t, env(t, "CARREL_ADR", "x", "CARREL_SOMETHING_ELSE", "y"))
	want := []string{
		"CARREL_ADR is not a setting and has no effect; did you mean CARREL_ADDR?",
		"CARREL_SOMETHING_ELSE is not a setting and has no effect",
	}
	if !slices.Equal(c.Warnings, want) {
		t.Errorf("warnings %q", c.Warnings)
	}
}

func TestTrustedProxiesAreNormalized(t *testing.T) {
	t.Parallel()
	c := load(t, env(t, "CARREL_TRUSTED_PROXIES", "10.1.2.3/8,192.0.2.1,::ffff:172.16.0.0/108,::1,"))
	if got, want := describe(t, c, "trusted-proxies").Value, "10.0.0.0/8,192.0.2.1/32,172.16.0.0/12,::1/128"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestBaseURLIsDerivedFromTheAddress(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		":9000": "http://127.0.0.1:9000", "0.0.0.0:9000": "http://127.0.0.1:9000",
		"[::]:9000": "http://127.0.0.1:9000", "[::1]:9000": "http://[::1]:9000", "box.local:9000": "http://box.local:9000",
	} {
		if got := load(t, env(t, "CARREL_ADDR", addr)).BaseURL; got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
	const addr = "127.0.0.1:4711"
	got := load(t, env(t, "CARREL_ADDR", "127.0.0.1:0")).Bound(addr)
	if got.BaseURL != "http://"+addr || got.Addr != addr {
		t.Errorf("bound: %s %s", got.Addr, got.BaseURL)
	}
	got = load(t, env(t, "CARREL_BASE_URL", "https://a.example")).Bound(addr)
	if got := got.BaseURL; got != "https://a.example" {
		t.Errorf("set and bound: %s", got)
	}
	cert := write(t, "cert.pem", "x")
	if got := load(t, env(t, "CARREL_TLS_CERT", cert, "CARREL_TLS_KEY", cert)).BaseURL; got != "https://127.0.0.1:8080" {
		t.Errorf("with TLS: %s", got)
	}
}

func FuzzSettingsFile(f *testing.F) {
	f.Add("addr = 127.0.0.1:1\n")
	f.Add("\ufeffaddr='x\n=\n= =\n[x]\n")
	f.Add("database = \"postgres://a:b#c@d/e\" # x")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "c.conf")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(config.LoadOptions{File: path})
		if err == nil && c.BaseURL == "" {
			t.Error("settings without a base URL were accepted")
		}
	})
}

func TestImportLimitsAreValidated(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{
		"imports-per-user": {"0", "-1", "1001", "many"}, "imports-per-node": {"0", "1001", ""}, "import-unpacked-mib": {
			"1",
			"x",
		},
		"import-entries": {"0"}, "import-depth": {"0", "101"}, "import-work": {"1"}, "import-memory-mib": {"8"},
		"import-time": {"0s", "25h", "5"},
	} {
		for _, value := range values {
			_, err := config.Load(config.LoadOptions{Overrides: map[string]string{name: value}})
			if err == nil || !strings.Contains(err.Error(), "--"+name+" must be") || value != "" &&
				strings.Contains(err.Error(), " "+value+" ") {
				t.Errorf("%s=%q: %v", name, value, err)
			}
		}
	}
	c, err := config.Load(config.LoadOptions{Overrides: map[string]string{"imports-per-user": "7", "import-time": "1h"}})
	if err != nil || c.Imports.PerUser != 7 || c.Imports.PerNode != 4 || c.Imports.UnpackedMiB != 256 ||
		c.Imports.Time != time.Hour {
		t.Errorf("%+v (%v)", c.Imports, err)
	}
}

// A file with a secret that every user of the machine can read is refused with the command that mends it.
func TestSecretsInFilesThatEveryUserCanReadAreRefused(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("k", 40)
	public := func(name, text string) string {
		path := write(t, name, text)
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, opts := range map[string]config.LoadOptions{
		"secret file":       env(t, "CARREL_SECRET_KEY_FILE", public("key", key)),
		"key of TLS":        env(t, "CARREL_TLS_CERT", write(t, "cert", "x"), "CARREL_TLS_KEY", public("tls", "x")),
		"settings":          {File: public("a.conf", "secret-key = "+key)},
		"password of a URL": {File: public("b.conf", "database = postgres://u:secret@h/d")},
	} {
		_, err := config.Load(opts)
		if err == nil || !strings.Contains(err.Error(), "run: chmod 600 /") || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", name, err)
		}
	}
	load(t, config.LoadOptions{File: public("c.conf", "database = postgres://h/d\naddr = :1")})
}
