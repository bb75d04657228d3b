package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"carrel/internal/search"
	"carrel/internal/search/analysis"
)

const (
	// keyVariable is the environment variable with the key of the endpoint, if it needs one.
	keyVariable = "CARREL_EVAL_KEY"
	// textsPerRequest is the number of texts in a request for embeddings.
	textsPerRequest = 64
	// maxEmbeddings limits a reply of the endpoint.
	maxEmbeddings = 64 << 20
)

// endpoint computes embeddings over the OpenAI-compatible API. A nil endpoint computes none.
type endpoint struct{ url, model string }

// newEndpoint returns the endpoint with a base URL, such as http://127.0.0.1:8081/v1, or nil without a URL.
func newEndpoint(url, model string) *endpoint {
	if url == "" {
		return nil
	}
	return &endpoint{strings.TrimSuffix(url, "/"), model}
}

// vectors returns the embeddings of the passages of documents, nil for each without an endpoint.
func (e *endpoint) vectors(ctx context.Context, papers []paper) ([]*search.Vectors, error) {
	out := make([]*search.Vectors, len(papers))
	if e == nil {
		return out, nil
	}
	var texts []string
	for _, p := range papers {
		for _, text := range analysis.PassageTexts(p.Text) {
			texts = append(texts, search.Passage(p.Title, text))
		}
	}
	var all [][]float32
	for part := range slices.Chunk(texts, textsPerRequest) {
		vectors, err := e.embed(ctx, part)
		if err != nil {
			return nil, err
		}
		all = append(all, vectors...)
	}
	for i, p := range papers {
		n := len(analysis.Passages(p.Text))
		out[i] = &search.Vectors{Model: e.model, Dims: len(all[0]), Passages: all[:n:n]}
		all = all[n:]
	}
	return out, nil
}

// query adds the embedding of the query's text.
func (e *endpoint) query(ctx context.Context, q *search.Query) error {
	if e == nil || strings.TrimSpace(q.Text) == "" {
		return nil
	}
	vectors, err := e.embed(ctx, []string{q.Text})
	if err != nil {
		return err
	}
	q.Vector, q.Model = vectors[0], e.model
	return nil
}

// embed requests the embeddings of texts.
func (e *endpoint) embed(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(map[string]any{"model": e.model, "input": texts})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"/embeddings", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if key := os.Getenv(keyVariable); key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // read to its end
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("endpoint for embeddings: status %d", response.StatusCode)
	}
	var reply struct {
		Data []struct {
			Index     int
			Embedding []float32
		}
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxEmbeddings)).Decode(&reply); err != nil {
		return nil, fmt.Errorf("endpoint for embeddings: %w", err)
	}
	out := make([][]float32, len(texts))
	for _, d := range reply.Data {
		if d.Index >= 0 && d.Index < len(out) {
			out[d.Index] = d.Embedding
		}
	}
	if len(reply.Data) != len(texts) || slices.ContainsFunc(out, func(v []float32) bool { return len(v) == 0 }) {
		return nil, fmt.Errorf("endpoint for embeddings: %d vectors for %d texts", len(reply.Data), len(texts))
	}
	return out, nil
}
