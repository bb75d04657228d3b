package model

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// ProbeResult is the reply of a provider to Probe.
type ProbeResult struct {
	Status int
	// Date is the time of the provider's clock, or zero if it sent none.
	Date time.Time
}

// Probe requests the list of models, which costs nothing. Its error means that the provider did not reply.
func Probe(ctx context.Context, o Options) (ProbeResult, error) {
	base, err := o.baseURL()
	if err != nil {
		return ProbeResult{}, err
	}
	list := base.JoinPath("models")
	if o.API == Anthropic {
		list = base.JoinPath("v1", "models")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, list.String(), http.NoBody)
	if err != nil {
		return ProbeResult{}, fmt.Errorf("the address is not valid: %w", err)
	}
	req.Header.Set("User-Agent", "Carrel")
	switch {
	case o.API == Anthropic:
		req.Header.Set("Anthropic-Version", anthropicVersion)
		req.Header.Set("X-Api-Key", o.Key)
	case o.Key != "":
		req.Header.Set("Authorization", "Bearer "+o.Key)
	}
	client := newHTTPClient()
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return ProbeResult{}, err
	}
	defer func() { _ = res.Body.Close() }()                            // only read from
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxErrorBody)) // only the status matters
	out := ProbeResult{Status: res.StatusCode}
	out.Date, _ = http.ParseTime(res.Header.Get("Date")) // zero if missing
	return out, nil
}
