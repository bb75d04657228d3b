package obs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"carrel/internal/obs"
)

// Keys consist of 32 random characters and a checksum of 6.
const (
	secretBody = "0123456789abcdefghijABCDEFGHIJ01XYZXYZ"
	key        = "crl_" + secretBody
	code       = "crlc_" + secretBody
)

func newLog(format string) (*slog.Logger, *bytes.Buffer) {
	var out bytes.Buffer
	return obs.NewLogger(&out, obs.LogOptions{Format: format, Level: slog.LevelInfo, Prefixes: []string{"crl", "crlc"}}),
		&out
}

type noteStruct struct{ Note string }

type valuer struct{}

func (valuer) LogValue() slog.Value {
	return slog.GroupValue(slog.String("note", "Bearer "+secretBody))
}

func TestSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	dsn := "postgres://carrel:" + secretBody + "@db/carrel"
	u, _ := url.Parse(dsn)
	for name, log := range map[string]func(*slog.Logger){
		"message":           func(l *slog.Logger) { l.Info("got " + key) },
		"text":              func(l *slog.Logger) { l.Info("x", "note", "it was "+key+", twice "+key) },
		"connect code":      func(l *slog.Logger) { l.Info("x", "note", "code="+code) },
		"bearer":            func(l *slog.Logger) { l.Info("x", "note", "Authorization: Bearer "+secretBody) },
		"bearer, odd case":  func(l *slog.Logger) { l.Info("x", "note", "bEaReR   "+secretBody) },
		"error":             func(l *slog.Logger) { l.Info("x", "error", fmt.Errorf("no: %w", errors.New(key))) },
		"named key":         func(l *slog.Logger) { l.Info("x", "key", secretBody) },
		"named apiKey":      func(l *slog.Logger) { l.Info("x", "apiKey", secretBody) },
		"named token":       func(l *slog.Logger) { l.Info("x", "access_token", secretBody) },
		"named header":      func(l *slog.Logger) { l.Info("x", "Set-Cookie", secretBody) },
		"named code":        func(l *slog.Logger) { l.Info("x", "code", secretBody) },
		"named password":    func(l *slog.Logger) { l.Info("x", "PASSWORD", []string{secretBody}) },
		"group":             func(l *slog.Logger) { l.Info("x", slog.Group("g", "h", key)) },
		"secretly named":    func(l *slog.Logger) { l.Info("x", slog.Group("secret", "h", secretBody)) },
		"with":              func(l *slog.Logger) { l.With("note", key).Info("x") },
		"with group":        func(l *slog.Logger) { l.WithGroup("cookie").Info("x", "h", secretBody) },
		"struct":            func(l *slog.Logger) { l.Info("x", "note", noteStruct{"Bearer " + secretBody}) },
		"not JSON":          func(l *slog.Logger) { l.Info("x", "note", map[any]any{1: key}) },
		"bytes":             func(l *slog.Logger) { l.Info("x", "note", []byte(key)) },
		"valuer":            func(l *slog.Logger) { l.Info("x", "note", valuer{}) },
		"header":            func(l *slog.Logger) { l.Info("x", "note", http.Header{"Cookie": {secretBody}}) },
		"database URL":      func(l *slog.Logger) { l.Info("x", "note", "connecting to "+dsn+" failed") },
		"parsed URL":        func(l *slog.Logger) { l.Info("x", "note", u) },
		"URL in an error":   func(l *slog.Logger) { l.Info("x", "error", fmt.Errorf("dial %q", dsn)) },
		"password with @ ;": func(l *slog.Logger) { l.Info("x", "note", "https://u:p@"+secretBody+"@h/x") },
	} {
		for _, format := range []string{"text", "json"} {
			l, out := newLog(format)
			log(l)
			if out.Len() == 0 || strings.Contains(out.String(), secretBody) || !strings.Contains(out.String(), "redacted") &&
				name != "parsed URL" {
				t.Errorf("%s, %s: %s", name, format, out)
			}
		}
	}
}

func TestOtherValuesAreLoggedUnchanged(t *testing.T) {
	t.Parallel()
	l, out := newLog("json")
	l.Info("listening", "addr", "http://127.0.0.1:8080/a:b@c", "agent", "agt_01j9z3k4m5n6p7q8r9s0t1v2w3", "inputTokens",
		12, "keyId", "crd_1",
		"note", "crl_short", "tags", []string{"a"}, "error", errors.New("plain"))
	for _, want := range []string{
		`"addr":"http://127.0.0.1:8080/a:b@c"`, `"agent":"agt_01j9z3k4m5n6p7q8r9s0t1v2w3"`, `"inputTokens":12`,
		`"keyId":"crd_1"`,
		`"note":"crl_short"`, `"tags":["a"]`, `"error":"plain"`, `"msg":"listening"`, `"level":"INFO"`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("missing %s in %s", want, out)
		}
	}
}

func TestTextAroundASecretIsKept(t *testing.T) {
	t.Parallel()
	l, out := newLog("json")
	l.Info("x", "note", "before "+key+", between Bearer abc; postgres://u:p@h/db after")
	want := `"before crl_[redacted], between Bearer [redacted]; postgres://u:[redacted]@h/db after"`
	if !strings.Contains(out.String(), want) {
		t.Errorf("got %s, want %s", out, want)
	}
}

func TestFormatDependsOnTheTerminal(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		format   string
		terminal bool
		json     bool
	}{{"auto", true, false}, {"auto", false, true}, {"text", false, false}, {"json", true, true}} {
		var out bytes.Buffer
		obs.NewLogger(&out, obs.LogOptions{Format: tc.format, Terminal: tc.terminal, Level: slog.LevelInfo}).Info("x")
		if got := strings.HasPrefix(out.String(), "{"); got != tc.json {
			t.Errorf("%+v: %s", tc, out.String())
		}
	}
}

func TestRequestIDOfTheContextIsLogged(t *testing.T) {
	t.Parallel()
	l, out := newLog("json")
	ctx := context.WithValue(t.Context(), obs.RequestIDKey{}, "req_1")
	l.InfoContext(ctx, "x")
	l.With("a", 1).WarnContext(ctx, "y")
	if strings.Count(out.String(), `"requestId":"req_1"`) != 2 {
		t.Error(out)
	}
	out.Reset()
	l.Info("no request")
	if strings.Contains(out.String(), "requestId") {
		t.Error(out)
	}
	l.DebugContext(ctx, "hush")
	if strings.Contains(out.String(), "hush") {
		t.Error("a line below the level was written")
	}
}

func FuzzRedaction(f *testing.F) {
	f.Add("got ", " there")
	f.Add("Bearer ", "\t")
	f.Add("a://b:", "@c")
	f.Add("crl_crlc_", "_")
	f.Fuzz(func(t *testing.T, before, after string) {
		l, out := newLog("json")
		l.Info(before+key+after, "note", before+code+after, "bearer", "Bearer "+secretBody+after)
		if strings.Contains(out.String(), secretBody) {
			t.Errorf("not redacted: %s", out)
		}
	})
}

func BenchmarkLogLineWithRedaction(b *testing.B) {
	l := obs.NewLogger(discard{}, obs.LogOptions{Format: "json", Level: slog.LevelInfo, Prefixes: []string{"crl", "crlc"}})
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		l.LogAttrs(ctx, slog.LevelInfo, "request", slog.String("method", "GET"), slog.String("route",
			"/api/agents/{agentId}/threads"),
			slog.Int("status", 200), slog.String("agent", "curl/8.5.0"))
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

type token string

func (t token) String() string { return "Bearer " + string(t) }

// Values that may contain credentials under any name are never printed.
func TestRequestsHeadersAndFormsAreNotLogged(t *testing.T) {
	t.Parallel()
	u, err := url.Parse("https://ada:" + secretBody + "@carrel.test/")
	if err != nil {
		t.Fatal(err)
	}
	req := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{"X-Api": {secretBody}}}
	for name, value := range map[string]any{
		"header":   http.Header{"X-Api": {secretBody}},
		"request":  req,
		"response": &http.Response{Request: req},
		"form":     url.Values{"pin": {secretBody}},
		"userinfo": u.User,
		"stringer": token(secretBody),
		"nested":   map[string]any{"list": []any{"Bearer " + secretBody}},
	} {
		for _, format := range []string{"text", "json"} {
			l, out := newLog(format)
			l.Info("x", "note", value)
			if strings.Contains(out.String(), secretBody) || !strings.Contains(out.String(), "[redacted]") {
				t.Errorf("%s as %s: %s", name, format, out)
			}
		}
	}
}

func TestEverySecretOfATextIsRedacted(t *testing.T) {
	t.Parallel()
	const redacted = "[redacted]"
	for text, want := range map[string]string{
		key + " " + code + " " + key:     "crl_" + redacted + " crlc_" + redacted + " crl_" + redacted,
		"Bearer a, Bearer b":             "Bearer " + redacted + ", Bearer " + redacted,
		"https://u:p@h https://v:q@i":    "https://u:" + redacted + "@h https://v:" + redacted + "@i",
		"https://u@h/x:y@z":              "https://u@h/x:y@z",
		"https://u:@h":                   "https://u:@h", // an empty password
		`{"key":"` + key + `"}`:          `{"key":"crl_` + redacted + `"}`,
		"crl_" + strings.Repeat("a", 15): "crl_" + strings.Repeat("a", 15), // too short for a secret
		"crl_" + strings.Repeat("a", 16): "crl_" + redacted,
		"the bearer":                     "the bearer",
		"bearer \t x":                    "bearer \t " + redacted,
		"forbearer x":                    "forbearer " + redacted, // too much rather than too little
		"":                               "",
	} {
		var out bytes.Buffer
		l := obs.NewLogger(&out, obs.LogOptions{
			Format: "json", Level: slog.LevelInfo, Prefixes: []string{"crl", "crlc", ""},
		})
		l.Info("x", "note", text)
		var line struct{ Note string }
		if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Note != want {
			t.Errorf("%q became %q, want %q (%v)", text, line.Note, want, err)
		}
	}
}

// An empty prefix would match every underscore.
func TestEmptyPrefixRedactsNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := obs.NewLogger(&out, obs.LogOptions{Format: "json", Level: slog.LevelInfo, Prefixes: []string{""}})
	l.Info("x", "note", "agt_01j9z3k4m5n6p7q8r9s0t1v2w3")
	if !strings.Contains(out.String(), "agt_01j9z3k4m5n6p7q8r9s0t1v2w3") {
		t.Error(out.String())
	}
}

func TestRequestIDIsLoggedInsideTheGroupOfTheLogger(t *testing.T) {
	t.Parallel()
	l, out := newLog("json")
	ctx := context.WithValue(t.Context(), obs.RequestIDKey{}, "req_1")
	l.WithGroup("turn").With("n", 1).InfoContext(ctx, "x")
	if want := `"turn":{"n":1,"requestId":"req_1"}`; !strings.Contains(out.String(), want) {
		t.Errorf("got %s, want %s", out, want)
	}
	for _, other := range []any{nil, 7, []byte("req_1")} {
		if got := obs.RequestID(context.WithValue(t.Context(), obs.RequestIDKey{}, other)); got != "" {
			t.Errorf("%v is the request id %q", other, got)
		}
	}
}

func TestDurationsAreSeconds(t *testing.T) {
	t.Parallel()
	for format, want := range map[string][]string{
		"json": {`"took":1.5`, `"timeout":10,`, `"short":0.00025`},
		"text": {"took=1.5", "timeout=10 ", "short=0.00025"},
	} {
		log, out := newLog(format)
		log.Info("x", slog.Duration("took", 1500*time.Millisecond), "timeout", 10*time.Second,
			slog.Duration("short", 250*time.Microsecond))
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%s: %s, want %s", format, out, w)
			}
		}
	}
}
