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

// Listen takes the addresses, so that Addr is known and nothing but serving is left that can fail. Connections wait
// until Serve is called.
func (s *Server) Listen(ctx context.Context) error {
	if s.cfg.TLS() {
		cert, err := tls.LoadX509KeyPair(s.cfg.TLSCert, s.cfg.TLSKey)
		if err != nil {
			return fmt.Errorf("the files of tls-cert and tls-key can't be used together, check both: %w", err)
		}
		s.http.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	var err error
	if s.listener, err = listen(ctx, "addr", s.cfg.Addr); err != nil {
		return err
	}
	if s.cfg.MetricsAddr == "" || s.metrics == nil {
		return nil
	}
	if s.metricsListener, err = listen(ctx, "metrics-addr", s.cfg.MetricsAddr); err != nil {
		return errors.Join(err, s.listener.Close())
	}
	return nil
}

// listen takes one address; its error says what to do, because a taken port is the first thing people run into.
func listen(ctx context.Context, setting, addr string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is already in use, perhaps by another carrel; stop that program or choose another port with --%s: %w", addr, setting, err)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("listening on %s is not allowed; choose a port above 1023 with --%s: %w", addr, setting, err)
	}
	return nil, fmt.Errorf("can't listen on %s; choose an address of this machine with --%s: %w", addr, setting, err)
}

// Addr is the address that the server listens on, with its real port; empty before Listen.
func (s *Server) Addr() string { return addrOf(s.listener) }

// MetricsAddr is the address that metrics are served on; empty when they are not.
func (s *Server) MetricsAddr() string { return addrOf(s.metricsListener) }

func addrOf(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// Serve answers requests until the context ends, then drains and returns nil. It is called once, after Listen.
func (s *Server) Serve(ctx context.Context) error {
	if s.listener == nil {
		return errors.New("server: Serve without Listen")
	}
	// A request in flight must outlive the signal to stop: it is drained, not cut.
	base := context.WithoutCancel(ctx)
	s.http.BaseContext = func(net.Listener) context.Context { return base }
	metrics := &http.Server{Handler: s.metricsHandler(), ReadHeaderTimeout: readHeaderTimeout, ErrorLog: s.http.ErrorLog}

	s.log.InfoContext(ctx, "listening", "addr", s.Addr(), "metrics", s.MetricsAddr(), "tls", s.cfg.TLS(), "version", s.opts.Version)
	g, stopped := errgroup.WithContext(ctx)
	g.Go(func() error {
		if s.cfg.TLS() {
			return served(s.http.ServeTLS(s.listener, "", ""))
		}
		return served(s.http.Serve(s.listener))
	})
	if s.metricsListener != nil {
		g.Go(func() error { return served(metrics.Serve(s.metricsListener)) })
	}
	g.Go(func() error {
		<-stopped.Done()
		s.drain(base)
		return metrics.Close()
	})
	return g.Wait()
}

// served takes the normal end of a server for what it is.
func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

// drain stops accepting, lets open requests end, and cuts those that take too long.
func (s *Server) drain(ctx context.Context) {
	s.log.InfoContext(ctx, "stopping; open requests may end", "within", s.cfg.ShutdownTimeout)
	if s.opts.Draining != nil {
		s.opts.Draining()
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ShutdownTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.log.WarnContext(ctx, "requests that did not end in time were cut", "error", err)
		_ = s.http.Close() // nothing is left to save
	}
}

func (s *Server) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	if s.metrics != nil {
		mux.Handle("GET /metrics", s.metrics.Handler())
	}
	return mux
}
