package server_test

import (
	"io"
	"log/slog"
	"net/http"
	"testing"

	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/obs"
	"carrel/internal/server"
)

// nullWriter is a ResponseWriter without cost, so that the benchmark measures the middleware.
type nullWriter struct {
	h      http.Header
	status int
}

func (w *nullWriter) Header() http.Header         { return w.h }
func (w *nullWriter) WriteHeader(status int)      { w.status = status }
func (w *nullWriter) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkChain measures the cost of the middleware for one request. "bare" is the mux alone.
func BenchmarkChain(b *testing.B) {
	body := []byte(`{"agents":[]}`)
	register := func(mux *http.ServeMux) {
		mux.HandleFunc("GET /api/agents", func(w http.ResponseWriter, r *http.Request) {
			_ = server.Admit(r.Context(), core.Actor{UserID: "u"})
			_, _ = w.Write(body)
		})
	}
	chain := func(level, limits string) http.Handler {
		vars := map[string]string{"CARREL_DATA": b.TempDir(), "CARREL_LOG_LEVEL": level, "CARREL_RATE_LIMITS": limits}
		cfg, err := config.Load(config.LoadOptions{Getenv: func(name string) string { return vars[name] }})
		if err != nil {
			b.Fatal(err)
		}
		log := obs.NewLogger(io.Discard, obs.LogOptions{Format: "json", Level: cfg.LogLevel, Prefixes: []string{
			"crl",
			"crlc",
		}})
		s := server.New(cfg, log, obs.NewMetrics("bench"), server.Options{Routes: register, Problem: problem})
		if cfg.RateLimits {
			s.RaiseLimits()
		}
		return s.Handler()
	}
	bare := http.NewServeMux()
	register(bare)
	for _, tc := range []struct {
		name    string
		handler http.Handler
	}{
		{"bare", bare},
		{"quiet", chain(slog.LevelWarn.String(), "off")},
		{"limited", chain(slog.LevelWarn.String(), "on")},
		{"logged", chain(slog.LevelInfo.String(), "on")},
	} {
		b.Run(tc.name, func(b *testing.B) {
			r, _ := http.NewRequest("GET", "/api/agents?limit=50", nil)
			r.RequestURI, r.RemoteAddr = "/api/agents?limit=50", "192.0.2.1:4711"
			r.Header.Set("Authorization", "Bearer crl_0123456789abcdefghijABCDEFGHIJ01XYZXYZ")
			r.Header.Set("User-Agent", "bench/1.0")
			w := &nullWriter{h: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.h)
				tc.handler.ServeHTTP(w, r)
			}
			if w.status != 0 && w.status != http.StatusOK {
				b.Errorf("status %d: not what was to be measured", w.status)
			}
		})
	}
}
