package model

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
	"unicode/utf8"
)

// ProbeResult is the reply of a provider to Probe.
type ProbeResult struct {
	Status int
	// Date is the time of the provider's clock, or zero if it sent none.
	Date time.Time
	// Models are the names in the list, at most maxListed. They are empty if the reply is no list of models.
	Models []string
}

const (
	// maxListed is how many models of a provider are returned, and maxList the size of the list in bytes.
	maxListed, maxList = 500, 4 << 20
	// maxListedName is the length of the longest name that is returned.
	maxListedName = 200
)

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
	defer func() { _ = res.Body.Close() }() // only read from
	out := ProbeResult{Status: res.StatusCode}
	if res.StatusCode == http.StatusOK {
		out.Models = listedModels(io.LimitReader(res.Body, maxList))
	}
	out.Date, _ = http.ParseTime(res.Header.Get("Date")) // zero if missing
	return out, nil
}

// listedModels returns the names in a list of models, which has the same form at all providers. Other replies have
// none.
func listedModels(body io.Reader) []string {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.NewDecoder(body).Decode(&list) != nil {
		return nil
	}
	var names []string
	for _, m := range list.Data {
		if m.ID != "" && len(m.ID) <= maxListedName && utf8.ValidString(m.ID) && len(names) < maxListed {
			names = append(names, m.ID)
		}
	}
	return names
}
