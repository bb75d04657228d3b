package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// healthTimeout limits the request of carrel health. The server's own check takes two seconds at most.
const healthTimeout = 5 * time.Second

// maxHealthReply limits the size of the reply to carrel health.
const maxHealthReply = 1 << 20

type healthCommand struct {
	Data *string `placeholder:"DIR" help:"${help_data}"`
	Addr *string `placeholder:"HOST:PORT" help:"${help_addr}"`
	Live bool    `help:"Ask only whether the process answers, not whether it can serve requests."`
}

// Run asks the server of this machine for its state. Images without a shell use it as their health check.
func (c healthCommand) Run(ctx context.Context, env *Env) error {
	cfg, err := flags{"data": c.Data, "addr": c.Addr}.load(env)
	if err != nil {
		return err
	}
	path, scheme := "/readyz", "http"
	if c.Live {
		path = "/healthz"
	}
	transport := &http.Transport{}
	if cfg.TLS() {
		scheme = "https"
		// The certificate is for the public name, and this request does not leave the machine.
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
		if len(cfg.ACME.Domains) > 0 {
			transport.TLSClientConfig.ServerName = cfg.ACME.Domains[0] // autocert refuses other names
		}
	}
	addr, err := localAddr(cfg.Addr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+addr+path, http.NoBody)
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("the server at %s does not answer: %w", addr, err)
	}
	defer func() { _ = res.Body.Close() }() // read only
	if res.StatusCode == http.StatusOK {
		_, err = fmt.Fprintln(env.Out, "ok")
		return err
	}
	var problem struct {
		Detail string `json:"detail"`
	}
	_ = json.NewDecoder(io.LimitReader(res.Body, maxHealthReply)).Decode(&problem) // a proxy may answer without JSON
	return fmt.Errorf("the server at %s is not ready (status %d): %s", addr, res.StatusCode, problem.Detail)
}

// localAddr replaces the address of all interfaces by loopback. It does not use the name localhost, which an image
// without /etc/hosts does not know.
func localAddr(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	switch ip := net.ParseIP(host); {
	case host == "" || ip.Equal(net.IPv4zero):
		host = "127.0.0.1"
	case ip.Equal(net.IPv6unspecified):
		host = "::1"
	}
	return net.JoinHostPort(host, port), nil
}
