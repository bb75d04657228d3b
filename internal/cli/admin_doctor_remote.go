package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"carrel/internal/app"
	"carrel/internal/core"
	"carrel/internal/model"
	"carrel/internal/otlp"
)

// probeTimeout limits the requests of the doctor.
const probeTimeout = 20 * time.Second

// checkModel requests the list of models from the provider, which costs nothing.
func (d *doctor) checkModel(ctx context.Context) {
	const name = "model"
	m := d.cfg.Model
	if m.API == string(model.None) {
		d.ok(name, "none is configured; answers are quotes")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	reply, err := model.Probe(ctx, model.Options{API: model.API(m.API), BaseURL: m.BaseURL, Key: m.Key})
	if err != nil {
		d.fail(name, "Check model-base-url, and that the provider runs and can be reached from here.", "%v", err)
		return
	}
	switch reply.Status {
	case http.StatusOK:
		d.ok(name, "the provider replies")
	case http.StatusUnauthorized, http.StatusForbidden:
		d.fail(name, "Correct model-api-key.", "the provider rejects the key (status %d)", reply.Status)
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		d.warn(name, "Check model-base-url. Some servers offer no list of models.",
			"the provider replies, but has no list of models (status %d)", reply.Status)
	default:
		d.fail(name, "See the provider's status page or log.", "the provider replies with status %d", reply.Status)
	}
	if !reply.Date.IsZero() { // has a resolution of one second
		d.checkClock("the model's provider", time.Until(reply.Date.Add(time.Second/2)))
	}
}

// checkEmbeddings requests the embedding of one word.
func (d *doctor) checkEmbeddings(ctx context.Context) {
	const name = "embeddings"
	e := d.cfg.Embeddings
	if !e.Endpoint() {
		d.ok(name, "no endpoint is configured")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	client := model.NewEmbeddingClient(model.EmbeddingOptions{
		URL: e.URL, Key: e.Key, Model: e.Model, Dims: e.Dimensions,
	}, core.SystemClock{})
	defer client.Close()
	if _, err := client.Embed(ctx, []string{"test"}); err != nil {
		d.fail(name, "Check embeddings-url, embeddings-model and embeddings-api-key.", "%v", err)
		return
	}
	d.ok(name, "%s replies with vectors of length %d", e.Model, client.Dims())
}

// checkCollector sends an empty request to the OpenTelemetry collector. The server works without it.
func (d *doctor) checkCollector(ctx context.Context) {
	const name = "otlp"
	o := d.cfg.OTLP
	if o.URL == "" {
		d.ok(name, "no collector is configured")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := otlp.Probe(ctx, otlp.Options{
		URL: o.URL, Headers: o.Headers, Version: app.Version(), Log: slog.New(slog.DiscardHandler),
	}); err != nil {
		d.warn(name, "Check otlp-url and otlp-headers, and that the collector accepts OTLP over HTTP in JSON.", "%v", err)
		return
	}
	d.ok(name, "the collector accepts traces")
}

// expiryWarn is the time before the expiry of a certificate at which it should have been renewed.
const expiryWarn = 14 * 24 * time.Hour

// checkAddress checks the base URL and the certificate behind it.
func (d *doctor) checkAddress(ctx context.Context) {
	const name = "base-url"
	base, err := url.Parse(d.cfg.BaseURL)
	if err != nil {
		d.fail(name, "Correct base-url.", "the address is not valid")
		return
	}
	if d.cfg.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(d.cfg.TLSCert, d.cfg.TLSKey)
		if err != nil {
			d.fail("certificate", "Correct tls-cert and tls-key.", "%v", err)
		} else {
			d.checkCertificate(pair.Leaf, base.Hostname())
		}
	}
	if base.Scheme != "https" {
		if d.cfg.TLS() {
			d.fail(name, "Set base-url to the https:// address.", "the server uses HTTPS, but base-url is %s", d.cfg.BaseURL)
			return
		}
		ip := net.ParseIP(base.Hostname())
		if base.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			d.warn(name, "Use HTTPS: see docs/operate.md.", "%s is not encrypted", d.cfg.BaseURL)
			return
		}
		d.ok(name, "%s", d.cfg.BaseURL)
		return
	}
	leaf, err := presented(ctx, base)
	if err != nil {
		d.warn(name, "Check DNS, the firewall and the proxy. The check may also fail because the server does not run, or "+
			"because this machine can't reach its own public address.", "%s can't be reached from here: %v", d.cfg.BaseURL, err)
		return
	}
	d.ok(name, "%s", d.cfg.BaseURL)
	if d.cfg.TLSCert == "" {
		d.checkCertificate(leaf, base.Hostname())
	}
}

// presented returns the certificate that the address presents. It is not verified, so that an expired one is reported
// as such.
func presented(ctx context.Context, base *url.URL) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	port := base.Port()
	if port == "" {
		port = "443"
	}
	//nolint:gosec // nothing is sent; the certificate is checked afterwards
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, ServerName: base.Hostname()}}
	c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(base.Hostname(), port))
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() // nothing was sent
	return c.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

func (d *doctor) checkCertificate(leaf *x509.Certificate, host string) {
	const name = "certificate"
	left := time.Until(leaf.NotAfter)
	switch {
	case left <= 0:
		d.fail(name, "Renew it.", "expired on %s", date(leaf.NotAfter))
	case leaf.VerifyHostname(host) != nil:
		d.fail(name, "Get a certificate for the host of base-url.", "is not valid for %s", host)
	case left < min(expiryWarn, leaf.NotAfter.Sub(leaf.NotBefore)/3):
		d.warn(name, "Renew it, and check why that did not happen automatically.", "expires on %s", date(leaf.NotAfter))
	default:
		d.ok(name, "valid until %s", date(leaf.NotAfter))
	}
}
