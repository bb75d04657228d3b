package cli

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASecondServerCannotUseTheDataFolder(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.serve()
	code, _, errs := run(t, "serve", "--addr", "127.0.0.1:0", "--data", in.data)
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	mustContain(t, errs, "another process (", "uses the data folder", "--data")
}

func TestCommandsWorkWhileTheServerRuns(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := in.serve()
	key := strings.TrimSpace(in.admin("key", "create", "--user", owner, "--name", "test"))
	get := func() int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/agents", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		client := &http.Client{}
		defer client.CloseIdleConnections()
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode
	}
	if status := get(); status != http.StatusOK {
		t.Errorf("a new key gets status %d", status)
	}
	in.admin("key", "revoke", "--user", owner, "test")
	if status := get(); status != http.StatusUnauthorized {
		t.Errorf("a revoked key gets status %d", status)
	}
}

func TestAServerWithoutAccountsPrintsHowToCreateOne(t *testing.T) {
	t.Parallel()
	in := installation{data: t.TempDir()}
	out := &buffer{}
	env := &Env{In: strings.NewReader(""), Out: out, Err: &buffer{}, Getenv: func(string) string { return "" }}
	cfg, err := (flags{"data": &in.data}).load(env)
	if err != nil {
		t.Fatal(err)
	}
	opened := openApp(t, cfg)
	if err := welcome(t.Context(), env, cfg, opened); err != nil {
		t.Fatal(err)
	}
	mustContain(t, out.String(), "There is no account yet", opened.SetupCode,
		"carrel admin --data "+in.data+" user create")
}

func TestTheDemoKeepsItsSecretsAndLibrary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := &Env{In: strings.NewReader(""), Out: &buffer{}, Err: &buffer{}, Getenv: func(string) string { return "" }}
	cfg, err := (flags{"data": &dir}).load(env)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Demo = true
	opened := openApp(t, cfg)
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
		return string(b)
	}
	if err := welcome(t.Context(), env, cfg, opened); err != nil {
		t.Fatal(err)
	}
	key, password := read(demoKeyFile), read(demoPasswordFile)
	first := env.Out.(*buffer).String()
	mustContain(t, first, "The Carrel demo is running at", demoEmail, "/search -d")
	if strings.Contains(first, strings.TrimSpace(key)) || strings.Contains(first, strings.TrimSpace(password)) {
		t.Error("the demo prints a secret")
	}
	if err := welcome(t.Context(), env, cfg, opened); err != nil {
		t.Fatal(err)
	}
	if read(demoKeyFile) != key || read(demoPasswordFile) != password {
		t.Error("a second start changes the secrets")
	}
	if err := os.WriteFile(filepath.Join(dir, demoKeyFile), []byte("crl_invalid\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := welcome(t.Context(), env, cfg, opened); err != nil {
		t.Fatal(err)
	}
	if renewed := read(demoKeyFile); renewed == key || !strings.HasPrefix(renewed, "crl_") || renewed == "crl_invalid\n" {
		t.Errorf("an invalid key is replaced by %q", renewed)
	}
}
