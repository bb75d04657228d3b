package cli

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"carrel/internal/core"
)

func TestAmountsAreReadExactly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "12.50": 12_500_000, "0.000001": 1, "1000000000": 1e15, "007": 7e6, ".5": 500_000, "3.": 3e6, "0.1": 100_000,
		"999999999.999999": 999_999_999_999_999,
	} {
		if got, err := parseUSD(text); err != nil || got != want {
			t.Errorf("%q is %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", " ", ".", "-1", "+1", "1e3", "1/3", "0x10", "1_000", "1,50", "1 000", "0.0000001", "1000000000.000001", "1.2.3",
		"$5", "5 USD", "NaN", "Inf", "none",
		"٣", "1\x00", strings.Repeat("9", 400),
	} {
		if got, err := parseUSD(text); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
}

func TestShellQuoteSurvivesAShell(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell: ", err)
	}
	words := []string{
		"", "plain", "/var/lib/carrel", "with space", "it's", `"double"`, "$HOME", "`id`", "$(id)", `back\slash`,
		"a;b&c|d>e<f", "*?[x]", "~", "#", "!", "-n",
		"tab\there", "two\nlines", "ü😀", "'", "''", "a=b", "%s", "{a,b}", "(x)",
	}
	script := "printf '%s\\0'"
	for _, w := range words {
		script += " " + core.ShellQuote(w)
	}
	out, err := exec.CommandContext(t.Context(), shell, "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(got) != len(words) {
		t.Fatalf("%d words came back of %d", len(got), len(words))
	}
	for i, w := range words {
		if got[i] != w {
			t.Errorf("%q came back as %q", w, got[i])
		}
	}
	if got := core.ShellQuote("/data/carrel-1.0_x+y:z@h"); got != "/data/carrel-1.0_x+y:z@h" {
		t.Errorf("a plain word is quoted: %s", got)
	}
}

func TestSecretIsReadFromTheFlagOrStandardInput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ value, input, want string }{
		"the flag":           {"given", "unread\n", "given"},
		"nothing":            {"", "unread\n", ""},
		"the input":          {"-", "from input\nsecond line\n", "from input"},
		"a line of Windows":  {"-", "secret\r\n", "secret"},
		"a line with no end": {"-", "secret", "secret"},
		"spaces are kept":    {"-", "  a b  \n", "  a b  "},
		"an empty input":     {"-", "", ""},
	} {
		env := &Env{In: strings.NewReader(c.input), Err: io.Discard}
		if got, err := readSecret(env, c.value, "Password"); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
	broken := errors.New("broken pipe")
	if _, err := readSecret(&Env{In: iotest.ErrReader(broken), Err: io.Discard}, "-",
		"Password"); !errors.Is(err, broken) {
		t.Errorf("an input that fails: %v", err)
	}
}

func TestUnsetFlagsDoNotOverrideTheEnvironment(t *testing.T) {
	t.Parallel()
	dir, addr := t.TempDir(), "127.0.0.1:9999"
	env := &Env{Getenv: func(name string) string {
		return map[string]string{"CARREL_ADDR": "127.0.0.1:1111", "CARREL_DATA": dir}[name]
	}}
	cfg, err := flags{"addr": nil, "data": nil}.load(env)
	if err != nil || cfg.Addr != "127.0.0.1:1111" || cfg.Data != dir {
		t.Errorf("without flags: %s %s, %v", cfg.Addr, cfg.Data, err)
	}
	cfg, err = flags{"addr": &addr, "data": nil}.load(env)
	if err != nil || cfg.Addr != addr || cfg.Data != dir {
		t.Errorf("with a flag: %s %s, %v", cfg.Addr, cfg.Data, err)
	}
	bad := "nonsense"
	if _, err := (flags{"addr": &bad}).load(env); err == nil {
		t.Error("a flag of no use is taken")
	}
}

func TestDatesArePrintedInUTC(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 3, 12, 0, 0, 0, time.FixedZone("", 2*3600))
	if got := date(at); got != "2026-11-03T10:00:00Z" {
		t.Errorf("got %s", got)
	}
	if got := dateOr(&at, "never") + dateOr(nil, "never"); got != "2026-11-03T10:00:00Znever" {
		t.Errorf("got %s", got)
	}
}

// run runs a command line and returns its exit code and output.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	config := t.TempDir()
	code = Main(args, Env{
		In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" },
		ConfigDir: func() (string, error) { return config, nil },
	})
	return code, out.String(), errs.String()
}

func TestCommandsExitWithDocumentedCodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{nil, 0, "Agents that know their sources", ""},
		{[]string{"--help"}, 0, "serve", ""},
		{[]string{"serve", "--help"}, 0, "--metrics-addr", ""},
		{[]string{"admin", "user", "create", "--help"}, 0, "--password", ""},
		{[]string{"version"}, 0, "carrel ", ""},
		{[]string{"version", "--notice"}, 0, "all-MiniLM-L6-v2", ""},
		{[]string{"config", "--data", dir}, 0, "addr", ""},
		{[]string{"nonsense"}, 2, "", `Try "carrel --help"`},
		{[]string{"admin", "user", "create"}, 2, "", "--email"},
		{[]string{"admin", "--data", "a", "--database", "b", "user", "list"}, 1, "", "--database must be a PostgreSQL URL"},
		{[]string{"admin", "--data", dir, "user", "list"}, 1, "", "there is no installation in"},
		{
			[]string{"admin", "--data", dir, "spend", "set", "--user", "a@b.c", "--cap", "1e3"},
			1, "",
			"--cap: Must be an amount",
		},
	} {
		code, out, errs := run(t, c.args...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.err) {
			t.Errorf("%v ends with %d, %q, %q", c.args, code, out, errs)
		}
	}
}

func TestAccountsKeysAndAgentsAreCreated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	admin := func(want int, args ...string) string {
		t.Helper()
		code, out, errs := run(t, append([]string{"admin", "--data", dir}, args...)...)
		if code != want {
			t.Fatalf("%v ends with %d: %s%s", args, code, out, errs)
		}
		return out + errs
	}
	first := admin(0, "user", "create", "--email", "Ada@example.org", "--name", "Ada",
		"--password", "correct horse", "--json")
	if !strings.Contains(first, `"role":"owner"`) || !strings.Contains(first, `"user":{`) {
		t.Errorf("the first account is %s", first)
	}
	mustContain(t, admin(1, "user", "create", "--email", "ada@EXAMPLE.org", "--name", "A",
		"--password", "correct horse"), "already exists")
	mustContain(t, admin(1, "user", "create", "--email", "b@example.org", "--name", "B",
		"--password", "short"), "--password: Must have 8 to 256 characters")
	for _, weak := range []string{"password", "carrel2026"} {
		mustContain(t, admin(1, "user", "create", "--email", "b@example.org", "--name", "B",
			"--password", weak), "--password: This password is")
		mustContain(t, admin(1, "user", "password", "--user", "ada@example.org",
			"--password", weak), "--password: This password is")
	}
	mustContain(t, admin(0, "user", "create", "--email", "b@example.org", "--name", "B", "--password", "correct horse",
		"--plan", "none"), "role member, plan none")
	mustContain(t, admin(1, "user", "email", "--user", "b@example.org",
		"--email", "ada@example.org"), "already exists")
	mustContain(t, admin(1, "user", "email", "--user", "b@example.org",
		"--email", "nobody"), "--email: Must be an e-mail address")
	for from, to := range map[string]string{
		"b@example.org": "bert@example.org", "ada@example.org": "Lovelace@example.org",
	} {
		mustContain(t, admin(0, "user", "email", "--user", from,
			"--email", to), "is now "+strings.ToLower(to))
	}
	admin(0, "user", "email", "--user", "lovelace@example.org", "--email", "ada@example.org")
	if out := admin(0, "key", "create", "--user", "ada@example.org",
		"--name", "laptop"); !strings.HasPrefix(out, "crl_") || strings.Count(out, "\n") != 1 {
		t.Errorf("a key: %s", out)
	}
	mustContain(t, admin(0, "agent", "create", "--user", "ada@example.org", "--name", "Landmarks",
		"--json"), `"agent":{`)
	mustContain(t, admin(0, "key", "revoke", "--user", "ada@example.org", "laptop"), "Revoked laptop")
	mustContain(t, admin(1, "key", "revoke", "--user", "ada@example.org", "laptop"), "no such key")
	mustContain(t, admin(1, "key", "list",
		"--user", "nobody@example.org"), "no account has this e-mail address")
	mustContain(t, admin(0, "spend", "set", "--user", "ada@example.org",
		"--cap", "12.5"), "may spend 12.50 USD per month")
}
