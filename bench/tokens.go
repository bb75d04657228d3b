package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tokenTarget is the required ratio to the peer's rate.
const tokenTarget = 3

// tokenSettings are the flags of `bench tokens`.
type tokenSettings struct {
	runFlags
	loadFlags
	oidc, node string
	alone      bool
}

func parseTokens(args []string) (*tokenSettings, error) {
	s := &tokenSettings{}
	f := s.newFlags("bench tokens", "; a refresh measures its disk")
	s.register(f, loadFlags{32, 10, time.Second}, "concurrent clients, each with its own grant")
	f.StringVar(&s.oidc, "oidc", "oidc", "the `folder` with oidc-provider, after npm ci")
	f.StringVar(&s.node, "node", "", "the Node `program`; by default the one of the folder")
	f.BoolVar(&s.alone, "alone", false, "measure Carrel only")
	if err := parseFlags(f, args); err != nil {
		return s, err
	}
	return s, s.check(200, time.Minute)
}

// measureTokens compares the refresh of tokens with oidc-provider.
func measureTokens(ctx context.Context, s *tokenSettings, dir string) (page, error) {
	servers, err := tokenServers(ctx, s, dir)
	for _, t := range servers {
		defer t.stop()
	}
	if err != nil {
		return page{}, err
	}
	for round := range s.rounds {
		order := slices.Clone(servers)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, t := range order {
			if err := t.round(ctx, s.duration); err != nil {
				return page{}, fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	return tokenPage(s, servers), nil
}

// tokenServer is a server whose tokens are refreshed.
type tokenServer struct {
	*process
	name    string
	addr    string
	clients []*refresher
	rates   []float64
	waits   []time.Duration
	cpu     time.Duration
}

// tokenServers starts the compared servers, Carrel first.
func tokenServers(ctx context.Context, s *tokenSettings, dir string) ([]*tokenServer, error) {
	c := &carrel{binary: s.carrel, dir: dir}
	if err := c.signUp(ctx); err != nil {
		return nil, err
	}
	in, err := c.start(ctx)
	if err != nil {
		return nil, err
	}
	ours := &tokenServer{process: in.process, addr: in.addr, name: "Carrel, SQLite, durable"}
	servers := []*tokenServer{ours}
	fmt.Fprintf(s.progress, "connecting %d clients\n", s.connections)
	if ours.clients, err = connectAll(ctx, in.addr, s.connections); err != nil {
		return servers, err
	}
	if s.alone {
		return servers, nil
	}
	peer, err := startOIDC(ctx, s, dir)
	if err != nil {
		return servers, err
	}
	return append(servers, peer), nil
}

// startOIDC starts oidc-provider, which creates its own refresh tokens.
func startOIDC(ctx context.Context, s *tokenSettings, dir string) (*tokenServer, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	_, port, _ := strings.Cut(addr, ":")
	file := filepath.Join(dir, "refresh-tokens")
	node := cmp.Or(s.node, filepath.Join(s.oidc, "node_modules", ".bin", "node"))
	cmd := exec.Command(node, filepath.Join(s.oidc, "server.mjs"), port, fmt.Sprint(s.connections), file)
	cmd.Env = cleanEnv("NODE_ENV=production")
	proc, err := startProcess(ctx, "oidc-provider", filepath.Join(dir, "oidc.log"),
		"http://"+addr+"/.well-known/openid-configuration", cmd)
	if err != nil {
		return nil, err
	}
	t := &tokenServer{process: proc, addr: addr, name: "oidc-provider, in memory"}
	made, err := os.ReadFile(file)
	if err != nil {
		t.stop()
		return nil, err
	}
	for token := range strings.FieldsSeq(string(made)) {
		t.clients = append(t.clients, newRefresher(addr, "/token", "bench", token))
	}
	return t, nil
}

func tokenPage(s *tokenSettings, servers []*tokenServer) page {
	t := table{
		title: "Refresh of a token, public client",
		head:  []string{"server", "requests/s", "p50", "p99", "server CPU a request"},
	}
	for _, server := range servers {
		t.rows = append(t.rows, server.row())
	}
	p := newPage("Token endpoint: Carrel and oidc-provider", s.conditions(time.Now()), t)
	if len(servers) == 2 {
		var each []float64
		for i := range servers[0].rates {
			each = append(each, servers[0].rates[i]/servers[1].rates[i])
		}
		ratio := median(slices.Clone(each))
		p.tables = append(p.tables, table{title: "Ratio", head: []string{
			"median", "lowest", "highest", "target", "", "by server CPU",
		}, rows: [][]string{{
			fmt.Sprintf("%.2f×", ratio), fmt.Sprintf("%.2f×", slices.Min(each)), fmt.Sprintf("%.2f×", slices.Max(each)),
			fmt.Sprintf("≥ %d×", tokenTarget), verdict(ratio >= tokenTarget),
			fmt.Sprintf("%.2f×", float64(servers[1].each())/float64(servers[0].each())),
		}}})
	}
	return p
}

func (t *tokenServer) row() []string {
	slices.Sort(t.waits)
	rate := median(slices.Clone(t.rates))
	return []string{
		t.name, fmt.Sprintf("%.0f", rate), milliseconds(percentile(t.waits, 50)), milliseconds(percentile(t.waits, 99)),
		t.each().Round(time.Microsecond).String(),
	}
}

// each returns the server's CPU time per request. It is less affected by a busy machine than the rate.
func (t *tokenServer) each() time.Duration { return t.cpu / time.Duration(max(1, len(t.waits))) }
