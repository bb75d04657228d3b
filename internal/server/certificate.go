package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// certificatePoll is how often the files of the certificate are checked for changes. Polling also works on network file
// systems and for the symbolic links of certbot and Kubernetes, where notifications of the kernel do not.
const certificatePoll = 10 * time.Second

// certificateFiles serves a certificate from two files and replaces it when the files change.
type certificateFiles struct {
	cert, key string
	current   atomic.Pointer[tls.Certificate]
	// loaded are the versions of the files at the last attempt to load them. It is used by one goroutine.
	loaded [2]fileVersion
}

// fileVersion changes when a file is written or replaced.
type fileVersion struct {
	modified time.Time
	size     int64
}

func versionOf(path string) fileVersion {
	info, err := os.Stat(path)
	if err != nil {
		return fileVersion{}
	}
	return fileVersion{info.ModTime(), info.Size()}
}

func (c *certificateFiles) versions() [2]fileVersion {
	return [2]fileVersion{versionOf(c.cert), versionOf(c.key)}
}

// load reads the files. If they are not a valid pair, the current certificate stays in use.
func (c *certificateFiles) load() error {
	c.loaded = c.versions() // before reading, so that a change during it is noticed
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("load the files of tls-cert and tls-key: %w", err)
	}
	c.current.Store(&pair)
	return nil
}

// get implements tls.Config.GetCertificate.
func (c *certificateFiles) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.current.Load(), nil
}

// reload loads the files and logs the outcome. A failed attempt is not repeated until a file changes or a signal
// arrives, so that a bad pair is logged once.
func (s *Server) reload(ctx context.Context) {
	if err := s.files.load(); err != nil {
		s.log.ErrorContext(ctx, "the new certificate is not usable; the old one stays in use", slog.Any("error", err))
		return
	}
	leaf := s.files.current.Load().Leaf
	s.noteExpiry(leaf)
	s.log.InfoContext(ctx, "certificate reloaded", "subject", leaf.Subject.String(), "expires", leaf.NotAfter)
}

// watch reloads the certificate when its files change, and on every signal, until ctx ends. Without files it only
// receives the signals.
func (s *Server) watch(ctx context.Context) {
	var poll <-chan time.Time
	if s.files != nil {
		ticker := time.NewTicker(s.certificatePoll)
		defer ticker.Stop()
		poll = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.opts.Reload:
			if s.files == nil {
				s.log.InfoContext(ctx, "received SIGHUP; there are no certificate files to reload")
				continue
			}
			s.reload(ctx)
		case <-poll:
			if s.files.versions() != s.files.loaded {
				s.reload(ctx)
			}
		}
	}
}
