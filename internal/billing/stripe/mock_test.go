package stripe

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// TestRequestsAreAcceptedByStripeMock checks requests and responses against Stripe's own mock server, which rejects
// unknown parameters and versions.
func TestRequestsAreAcceptedByStripeMock(t *testing.T) {
	t.Parallel()
	c := client{
		http: &http.Client{Transport: &http.Transport{}}, url: startMock(t), key: "sk_test_123",
		timeout: testkit.Patience,
	}
	t.Cleanup(c.http.CloseIdleConnections)
	ctx := t.Context()
	id, err := c.newCustomer(ctx, "usr_1", "ada@example.org")
	if err != nil || !strings.HasPrefix(id, "cus_") {
		t.Fatalf("customer %q, %v", id, err)
	}
	address, err := c.checkout(ctx, checkout{
		customer: Customer{
			ID:     id,
			UserID: "usr_1",
		},
		price:     "price_1",
		trialDays: 14,
		returnURL: "https://carrel.test/settings/subscription",
		now:       time.Now(),
	})
	if err != nil || !strings.HasPrefix(address, "https://") {
		t.Errorf("checkout %q, %v", address, err)
	}
	if address, err = c.portal(ctx, id, "https://carrel.test"); err != nil || !strings.HasPrefix(address, "https://") {
		t.Errorf("portal %q, %v", address, err)
	}
	all, err := c.subscriptions(ctx, id)
	if err != nil || len(all) == 0 {
		t.Fatalf("subscriptions %v, %v", all, err)
	}
	for _, s := range all {
		if s.ID == "" || statuses[s.Status] == "" || s.Created == 0 || s.StartDate == 0 || len(s.Items.Data) == 0 ||
			s.Items.Data[0].Price.ID == "" ||
			s.Items.Data[0].PeriodEnd == 0 {
			t.Errorf("decoded as %+v", s)
		}
		if s.LatestInvoice == nil || s.LatestInvoice.Created == 0 {
			t.Errorf("the invoice is not expanded: %+v", s.LatestInvoice)
		}
	}
	// The mock does reject invalid requests.
	if err := c.post(
		ctx,
		"/v1/customers",
		map[string][]string{"no_such_parameter": {"1"}},
		"",
		&struct{}{},
	); err == nil ||
		!strings.Contains(err.Error(), "status 400") {
		t.Errorf("an unknown parameter: %v", err)
	}
}

// startMock builds the mock of the pinned version, runs it, and returns its address.
func startMock(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "stripe-mock")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "github.com/stripe/stripe-mock")
	build.Dir = filepath.Join("testdata", "stripe-mock")
	build.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("build stripe-mock: %v\n%s", err, out)
		}
		t.Skipf("stripe-mock can't be built here: %v\n%s", err, out)
	}
	return runMock(t, program)
}

// runMock runs the mock on a port of its choice until the test ends.
func runMock(t *testing.T, program string) string {
	t.Helper()
	cmd := exec.Command(program, "-http-addr", "127.0.0.1:0", "-strict-version-check")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, address, ok := strings.Cut(lines.Text(), "Listening for HTTP at address: "); ok {
			return "http://" + address
		}
	}
	t.Fatal("stripe-mock ended before it listened")
	return ""
}
