package config_test

import (
	"os"
	"strings"
	"testing"
)

func TestOTLPHeadersAreReadFromAPrivateFile(t *testing.T) {
	t.Parallel()
	path := write(t, "headers", "Authorization: Bearer a:b\n\n  x-scope : ignored\n")
	_ = checkLoad(t, []string{"CARREL_OTLP_HEADERS_FILE", path}, "CARREL_OTLP_HEADERS_FILE must be header fields")
	path = write(t, "headers", "Authorization: Bearer a:b\r\n\n  X-Scope: one, two\nX-Scope: three\n")
	c := load(t, env(t, "CARREL_OTLP_URL", "https://otel.example.org", "CARREL_OTLP_HEADERS_FILE", path))
	h := c.OTLP.Headers
	if len(h) != 2 || h.Get("Authorization") != "Bearer a:b" || strings.Join(h["X-Scope"], "|") != "one, two|three" {
		t.Errorf("headers %q", h)
	}
	if shown := c.String(); strings.Contains(shown, "a:b") || len(c.Warnings) != 0 {
		t.Errorf("shown:\n%s\nwarnings %q", shown, c.Warnings)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	_ = checkLoad(t, []string{"CARREL_OTLP_HEADERS_FILE", path}, "chmod 600")
}

func TestOTLPSettingsAreChecked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kv   []string
		want string // empty: accepted
	}{
		{[]string{"CARREL_OTLP_URL", "http://[::1]:4318"}, ""},
		{[]string{"CARREL_OTLP_URL", "https://otel.example.org/otlp"}, ""},
		{[]string{"CARREL_OTLP_URL", "otel:4317"}, "absolute http"},
		{[]string{"CARREL_OTLP_URL", "https://u:p@otel.example.org"}, "otlp-headers"},
		{[]string{"CARREL_OTLP_URL", "https://otel.example.org/v1/metrics"}, "appended"},
		{[]string{"CARREL_OTLP_URL", "https://otel.example.org/"}, "slash"},
		{[]string{"CARREL_OTLP_URL", "https://otel.example.org?x=1"}, "query"},
		{[]string{"CARREL_OTLP_HEADERS", "a b: c"}, "name: value"},
		{[]string{"CARREL_OTLP_HEADERS", "a:"}, "name: value"},
		{[]string{"CARREL_OTLP_SAMPLE", "0"}, ""},
		{[]string{"CARREL_OTLP_SAMPLE", "-0.1"}, "0 to 1"},
		{[]string{"CARREL_OTLP_SAMPLE", "NaN"}, "0 to 1"},
		{[]string{"CARREL_OTLP_INTERVAL", "2h"}, "1s to 1h"},
	} {
		_ = checkLoad(t, tc.kv, tc.want)
	}
}

func TestOTLPHeadersWithoutEncryptionAreWarnedOf(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"": "without otlp-url", "http://otel.example.org": "use https", "http://127.0.0.1:4318": "", "https://a.example": "",
	} {
		got := strings.Join(load(t, env(t, "CARREL_OTLP_URL", url, "CARREL_OTLP_HEADERS", "X-Key: k")).Warnings, "; ")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: warnings %q, want %q", url, got, want)
		}
	}
}
