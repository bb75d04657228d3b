package config

import (
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"

	"carrel/internal/lazyregexp"
)

// ACME are the settings for certificates that the server gets by itself (RFC 8555).
type ACME struct {
	// Domains are the names of the certificates; empty means that no certificate is requested.
	Domains []string
	// Email is sent to the certificate authority, which may use it for notices; empty means none.
	Email string
	// Directory is the URL of the certificate authority.
	Directory string
}

// domainNames is a comma-separated list of host names.
type domainNames []string

func (v *domainNames) String() string { return strings.Join(*v, ",") }

var domainName = lazyregexp.New(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$`)

func (v *domainNames) Set(s string) error {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.ToLower(strings.TrimSpace(part)); part == "" {
			continue
		}
		if len(part) > 253 || !domainName.MatchString(part) || net.ParseIP(part) != nil {
			return errors.New("must be names of hosts, separated by commas, such as carrel.example.org; no wildcards, " +
				"and internationalized names as xn--…")
		}
		if !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	*v = out
	return nil
}

func checkDirectory(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return errors.New("must be the https URL of an ACME directory")
	}
	return nil
}

// baseURL returns the public URL of a server with certificates for the domains that listens on addr.
func (a ACME) baseURL(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil || port == "443" {
		return "https://" + a.Domains[0]
	}
	return "https://" + net.JoinHostPort(a.Domains[0], port)
}

// tlsProblems checks the settings of HTTPS together.
func (c Config) tlsProblems() Problems {
	var probs Problems
	if (c.TLSCert == "") != (c.TLSKey == "") {
		probs.add("tls-cert and tls-key go together; set both or neither")
	}
	if c.TLSCert != "" && len(c.ACME.Domains) > 0 {
		probs.add("tls-cert and acme-domains exclude each other; remove one")
	}
	if c.RedirectAddr != "" && !c.TLS() {
		probs.add("redirect-addr needs tls-cert or acme-domains, because there is no HTTPS to redirect to")
	}
	if c.RedirectAddr != "" && (c.RedirectAddr == c.Addr || c.RedirectAddr == c.MetricsAddr) &&
		!strings.HasSuffix(c.RedirectAddr, ":0") {
		probs.add("redirect-addr must not be the same as addr or metrics-addr; choose another port")
	}
	return probs
}

// tlsWarnings returns the likely mistakes in the settings of HTTPS.
func (c Config) tlsWarnings() []string {
	var out []string
	if len(c.ACME.Domains) == 0 {
		if c.ACME.Email != "" {
			out = append(out, "acme-email has no effect without acme-domains")
		}
		return out
	}
	if u, err := url.Parse(c.BaseURL); err == nil && !slices.Contains(c.ACME.Domains, u.Hostname()) {
		out = append(out, "the host of base-url is not one of acme-domains, so that its certificate is not valid for it")
	}
	return out
}
