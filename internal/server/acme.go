package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// acmeFolder is the folder in the data folder with the account key and the certificates. autocert gives it mode 0700.
const acmeFolder = "acme"

// newACME returns a manager that gets and renews the certificates of acme-domains. It renews a certificate when a third
// of its lifetime is left.
func (s *Server) newACME() *autocert.Manager {
	c := s.cfg.ACME
	return &autocert.Manager{
		Prompt: autocert.AcceptTOS, Email: c.Email, HostPolicy: autocert.HostWhitelist(c.Domains...),
		Cache:  acmeCache{autocert.DirCache(filepath.Join(s.cfg.Data, acmeFolder)), s},
		Client: &acme.Client{DirectoryURL: c.Directory, UserAgent: "Carrel", HTTPClient: s.acmeClient},
	}
}

// acmeCache logs new certificates.
type acmeCache struct {
	autocert.Cache
	server *Server
}

// Put implements autocert.Cache.
func (c acmeCache) Put(ctx context.Context, name string, data []byte) error {
	err := c.Cache.Put(ctx, name, data)
	// Names with a plus are keys and challenges, except those of RSA certificates.
	domain := strings.TrimSuffix(name, "+rsa")
	switch {
	case strings.Contains(domain, "+"):
	case err != nil:
		c.server.log.ErrorContext(ctx, "the new certificate could not be stored", "domain", domain, slog.Any("error", err))
	default:
		c.server.log.InfoContext(ctx, "certificate obtained", "domain", domain)
	}
	return err
}

// acmeCertificate implements tls.Config.GetCertificate. Clients that send no name, such as health checks by address,
// get the certificate of the first domain.
func (s *Server) acmeCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if hello.ServerName == "" {
		named := *hello
		named.ServerName = s.cfg.ACME.Domains[0]
		hello = &named
	}
	cert, err := s.acme.GetCertificate(hello)
	if err == nil && !slices.Contains(hello.SupportedProtos, acme.ALPNProto) {
		s.noteExpiry(cert.Leaf)
	}
	return cert, err
}

// noteExpiry exports the expiry of the certificate in use.
func (s *Server) noteExpiry(leaf *x509.Certificate) {
	if s.metrics != nil && leaf != nil {
		s.metrics.CertificateExpires(leaf.NotAfter)
	}
}

// Pauses after a failed request for a certificate. Authorities limit failed requests to a few per hour.
const (
	acmeRetry    = time.Minute
	acmeMaxRetry = time.Hour
)

// obtainCertificates gets the certificates of all domains at the start, so that the first visitors need not wait and
// errors are in the log.
func (s *Server) obtainCertificates(ctx context.Context) {
	for _, domain := range s.cfg.ACME.Domains {
		for pause := acmeRetry; ; pause = min(2*pause, acmeMaxRetry) {
			err := s.obtain(ctx, domain)
			if err == nil || ctx.Err() != nil {
				break
			}
			s.log.ErrorContext(ctx, "no certificate was obtained; retrying", "domain", domain, "pause", pause,
				slog.Any("error", err))
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}
}

// obtain gets the certificate of a domain. autocert takes no context, so that a request is abandoned at shutdown.
func (s *Server) obtain(ctx context.Context, domain string) error {
	done := make(chan error, 1)
	go func() {
		_, err := s.acmeCertificate(&tls.ClientHelloInfo{
			ServerName: domain, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}, // asks for ECDSA
		})
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
