package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/testkit/otlpfake"
)

// diagnose runs the doctor with settings and returns the exit code and the findings by check.
func (in installation) diagnose(vars map[string]string, args ...string) (code int, found map[string]finding) {
	in.t.Helper()
	var out, errs buffer
	env := Env{
		In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(name string) string { return vars[name] },
	}
	code = Main(append([]string{"admin", "--data", in.data, "doctor", "--json"}, args...), env)
	var report struct {
		OK     bool
		Checks []finding
	}
	if err := json.Unmarshal([]byte(out.String()), &report); err != nil {
		in.t.Fatalf("%v in %q; %s", err, out.String(), errs.String())
	}
	if report.OK != (code == exitOK) {
		in.t.Errorf("ok is %v with exit code %d", report.OK, code)
	}
	found = map[string]finding{}
	for _, f := range report.Checks {
		if f.Status != statusOK && f.Action == "" {
			in.t.Errorf("%s has no action: %+v", f.Check, f)
		}
		if old, twice := found[f.Check]; !twice || old.Status == statusOK {
			found[f.Check] = f
		}
	}
	return code, found
}

// want checks the status of a finding and that its text contains a part.
func (f finding) want(t *testing.T, status checkStatus, part string) {
	t.Helper()
	if f.Status != status || !strings.Contains(f.Detail+" "+f.Action, part) {
		t.Errorf("%+v, want %s with %q", f, status, part)
	}
}

func TestDoctorFindsNothingInAHealthyInstallation(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	if err := os.Chmod(in.data, 0o700); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		code, found := in.diagnose(nil)
		if code != exitOK {
			t.Errorf("%s: exit code %d: %+v", when, code, found)
		}
		for _, name := range []string{
			"settings", "data folder", "disk", "database", "integrity", "index", "model", "embeddings", "otlp", "base-url",
		} {
			if f, ok := found[name]; !ok || f.Status == statusFail {
				t.Errorf("%s: %s is %+v", when, name, f)
			}
		}
	}
	check("without a server")
	in.serve()
	check("beside a server")
	code, out, errs := run(t, "admin", "--data", in.data, "doctor")
	if code != exitOK || errs != "" {
		t.Errorf("exit code %d: %s", code, errs)
	}
	mustContain(t, out, "ok    database     sqlite 3.", "ok    integrity    the database is intact")
}

func TestDoctorChecksThePoolerAndTheServerBehindIt(t *testing.T) {
	t.Parallel()
	in := installation{t: t, data: t.TempDir()}
	if err := os.Chmod(in.data, 0o700); err != nil {
		t.Fatal(err)
	}
	direct := testkit.Postgres(t)
	vars := map[string]string{
		"CARREL_DATABASE": testkit.Pgbouncer(t, direct), "CARREL_DATABASE_DIRECT": direct,
	}
	db, err := store.Open(t.Context(), store.Options{URL: vars["CARREL_DATABASE"], DirectURL: direct})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 { // on connections that the pooler has used before
		code, found := in.diagnose(vars)
		if code != exitOK {
			t.Errorf("exit code %d: %+v", code, found)
		}
		found["database"].want(t, statusOK, "postgres")
		found["direct"].want(t, statusOK, "postgres")
	}
	vars["CARREL_DATABASE_DIRECT"] = testkit.Postgres(t)
	code, found := in.diagnose(vars)
	found["direct"].want(t, statusFail, "the same database")
	if _, opened := found["index"]; code != exitFailed || opened {
		t.Errorf("exit code %d with another database: %+v", code, found)
	}
	vars["CARREL_DATABASE_DIRECT"] = "postgres://carrel@127.0.0.1:1/carrel"
	_, found = in.diagnose(vars)
	found["direct"].want(t, statusFail, "the setting database-direct")
}

func TestDoctorReportsTheDataFolder(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	if err := os.Chmod(in.data, 0o755); err != nil {
		t.Fatal(err)
	}
	_, found := in.diagnose(nil)
	found["data folder"].want(t, statusWarn, "chmod 700")
	in.data = filepath.Join(t.TempDir(), "none")
	code, found := in.diagnose(nil)
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	found["data folder"].want(t, statusFail, "does not exist")
	found["database"].want(t, statusFail, "does not exist")
	if _, err := os.Stat(in.data); err == nil {
		t.Error("the doctor has created the data folder")
	}
}

func TestDoctorReportsADamagedDatabase(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	path := filepath.Join(in.data, "carrel.db")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096 * 3; i < 4096*5; i++ { // pages after the schema
		content[i] = 0xff
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	code, found := in.diagnose(nil)
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	found["integrity"].want(t, statusFail, "estore a backup")
}

func TestDoctorReportsTheModelAndTheClock(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	status, skew := http.StatusOK, time.Duration(0)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer secret-key" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.Header().Set("Date", time.Now().Add(skew).UTC().Format(http.TimeFormat))
		w.WriteHeader(status)
	}))
	defer provider.Close()
	vars := map[string]string{
		"CARREL_MODEL": "openai", "CARREL_MODEL_BASE_URL": provider.URL + "/v1", "CARREL_MODEL_NAME": "m",
		"CARREL_MODEL_API_KEY": "secret-key",
	}
	code, found := in.diagnose(vars)
	if code != exitOK {
		t.Errorf("exit code %d", code)
	}
	found["model"].want(t, statusOK, "")
	found["clock"].want(t, statusOK, "provider")
	status, skew = http.StatusUnauthorized, 20*time.Minute
	code, found = in.diagnose(vars)
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	found["model"].want(t, statusFail, "model-api-key")
	found["clock"].want(t, statusFail, "provider")
	status, skew = http.StatusNotFound, -20*time.Second
	_, found = in.diagnose(vars)
	found["model"].want(t, statusWarn, "list of models")
	found["clock"].want(t, statusWarn, "provider")
	provider.Close()
	_, found = in.diagnose(vars)
	found["model"].want(t, statusFail, "model-base-url")
}

func TestDoctorAsksTheEmbeddingEndpoint(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	endpoint := testkit.NewEmbeddings(t)
	vars := map[string]string{
		"CARREL_EMBEDDINGS_URL": endpoint.URL(), "CARREL_EMBEDDINGS_MODEL": endpoint.Model,
		"CARREL_EMBEDDINGS_API_KEY": endpoint.Key,
	}
	_, found := in.diagnose(vars)
	found["embeddings"].want(t, statusOK, "vectors of length")
	endpoint.Close()
	_, found = in.diagnose(vars)
	found["embeddings"].want(t, statusFail, "embeddings-url")
}

func TestDoctorAsksTheCollector(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	unauthorized := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }
	vars := map[string]string{"CARREL_OTLP_URL": otlpfake.New(t, unauthorized).URL}
	_, found := in.diagnose(vars)
	found["otlp"].want(t, statusWarn, "otlp-headers")
	_, found = in.diagnose(vars)
	found["otlp"].want(t, statusOK, "accepts traces")
}

// writePair writes a self-signed certificate for localhost and its key.
func writePair(t *testing.T, expires time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: expires.AddDate(0, -3, 0), NotAfter: expires,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestDoctorReportsTheCertificateFiles(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	for _, tc := range []struct {
		expires time.Duration
		status  checkStatus
		part    string
	}{
		{-time.Hour, statusFail, "expired"},
		{5 * 24 * time.Hour, statusWarn, "expires on"},
		{60 * 24 * time.Hour, statusOK, "valid until"},
	} {
		cert, key := writePair(t, time.Now().Add(tc.expires))
		_, found := in.diagnose(map[string]string{
			"CARREL_TLS_CERT": cert, "CARREL_TLS_KEY": key, "CARREL_BASE_URL": "https://localhost:1",
		})
		found["certificate"].want(t, tc.status, tc.part)
	}
	cert, key := writePair(t, time.Now().Add(time.Hour))
	_, found := in.diagnose(map[string]string{
		"CARREL_TLS_CERT": cert, "CARREL_TLS_KEY": key, "CARREL_BASE_URL": "http://localhost:1",
	})
	found["base-url"].want(t, statusFail, "https://")
}

func TestDoctorReportsThePresentedCertificateAndPlainHTTP(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	_, found := in.diagnose(map[string]string{"CARREL_BASE_URL": "http://carrel.example.org"})
	found["base-url"].want(t, statusWarn, "HTTPS")
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the doctor closes connections without a request
	server.StartTLS()                                   // with a certificate for example.com and 127.0.0.1
	defer server.Close()
	_, found = in.diagnose(map[string]string{"CARREL_BASE_URL": server.URL})
	found["certificate"].want(t, statusOK, "valid until")
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	code, found := in.diagnose(map[string]string{"CARREL_BASE_URL": "https://localhost" + port})
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	found["certificate"].want(t, statusFail, "not valid for localhost")
	server.Close()
	_, found = in.diagnose(map[string]string{"CARREL_BASE_URL": server.URL})
	found["base-url"].want(t, statusWarn, "can't be reached")
}
