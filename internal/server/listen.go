package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// Listen binds the addresses. Connections are queued until Serve is called.
func (s *Server) Listen(ctx context.Context) error {
	switch {
	case len(s.cfg.ACME.Domains) > 0:
		s.acme = s.newACME()
		s.http.TLSConfig = s.acme.TLSConfig()
		s.http.TLSConfig.GetCertificate, s.http.TLSConfig.MinVersion = s.acmeCertificate, tls.VersionTLS12
	case s.cfg.TLS():
		s.files = &certificateFiles{cert: s.cfg.TLSCert, key: s.cfg.TLSKey}
		if err := s.files.load(); err != nil {
			return err
		}
		s.noteExpiry(s.files.current.Load().Leaf)
		s.http.TLSConfig = &tls.Config{GetCertificate: s.files.get, MinVersion: tls.VersionTLS12}
	}
	var err error
	if s.listener, err = listen(ctx, "addr", s.cfg.Addr); err != nil {
		return err
	}
	s.base.Store(newBaseURLCheck(s.cfg.Bound(s.Addr()).BaseURL))
	if s.cfg.RedirectAddr != "" {
		if s.redirectListener, err = listen(ctx, "redirect-addr", s.cfg.RedirectAddr); err != nil {
			return errors.Join(err, s.listener.Close())
		}
	}
	if s.cfg.MetricsAddr == "" || s.metrics == nil {
		return nil
	}
	if s.metricsListener, err = listen(ctx, "metrics-addr", s.cfg.MetricsAddr); err != nil {
		err = errors.Join(err, s.listener.Close())
		if s.redirectListener != nil {
			err = errors.Join(err, s.redirectListener.Close())
		}
	}
	return err
}

// listen binds one address. Its errors name the flag to change.
func listen(ctx context.Context, setting, addr string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is already in use, perhaps by another carrel; stop that program or "+
			"choose another port with --%s: %w", addr, setting, err)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("listening on %s is not allowed; choose a port above 1023 with --%s: %w", addr, setting, err)
	}
	return nil, fmt.Errorf("can't listen on %s; choose an address of this machine with --%s: %w", addr, setting, err)
}

// Addr returns the address that the server listens on, with the actual port. It is empty before Listen.
func (s *Server) Addr() string { return addrOf(s.listener) }

// RedirectAddr returns the address that redirects to HTTPS, or "" if there is none.
func (s *Server) RedirectAddr() string { return addrOf(s.redirectListener) }

// MetricsAddr returns the address of the metrics, or "" if they are not served.
func (s *Server) MetricsAddr() string { return addrOf(s.metricsListener) }

func addrOf(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// Serve serves requests until ctx ends, then drains and returns nil. It is called once, after Listen.
func (s *Server) Serve(ctx context.Context) error {
	if s.listener == nil {
		return errors.New("server: Serve without Listen")
	}
	// Requests in flight are not cancelled with ctx, so that they can be drained.
	base := context.WithoutCancel(ctx)
	s.http.BaseContext = func(net.Listener) context.Context { return base }
	metrics := &http.Server{Handler: s.metricsHandler(), ReadHeaderTimeout: readHeaderTimeout, ErrorLog: s.http.ErrorLog}

	s.log.InfoContext(ctx, "listening",
		"addr", s.Addr(), "redirect", s.RedirectAddr(), "metrics", s.MetricsAddr(), "tls", s.cfg.TLS(),
		"version", s.opts.Version)
	g, stopped := errgroup.WithContext(ctx)
	g.Go(func() error {
		if s.cfg.TLS() {
			return serveError(s.http.ServeTLS(s.listener, "", ""))
		}
		return serveError(s.http.Serve(s.listener))
	})
	if s.metricsListener != nil {
		g.Go(func() error { return serveError(metrics.Serve(s.metricsListener)) })
	}
	redirects := &http.Server{ReadTimeout: readHeaderTimeout, ErrorLog: s.http.ErrorLog}
	if s.redirectListener != nil {
		redirects.Handler = s.redirectHandler() // makes autocert use http-01
		g.Go(func() error { return serveError(redirects.Serve(s.redirectListener)) })
	}
	if s.acme != nil {
		g.Go(func() error {
			s.obtainCertificates(stopped)
			return nil
		})
	}
	g.Go(func() error {
		s.watch(stopped)
		return nil
	})
	if s.limiter != nil && s.limiter.shared != nil {
		g.Go(func() error {
			s.limiter.runExchange(stopped)
			return nil
		})
	}
	g.Go(func() error {
		<-stopped.Done()
		s.drain(base)
		return errors.Join(metrics.Close(), redirects.Close())
	})
	return g.Wait()
}

// serveError returns nil for the error of a regular shutdown.
func serveError(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

// drain stops accepting connections and waits for open requests. After the shutdown timeout it closes them.
func (s *Server) drain(ctx context.Context) {
	s.log.InfoContext(ctx, "stopping; waiting for open requests", "timeout", s.cfg.ShutdownTimeout)
	if s.opts.Draining != nil {
		s.opts.Draining()
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ShutdownTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.log.WarnContext(ctx, "closed requests that did not end in time", "error", err)
		_ = s.http.Close() // the connections are lost in any case
	}
}

func (s *Server) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	if s.metrics != nil {
		mux.Handle("GET /metrics", s.metrics.Handler())
	}
	return mux
}
