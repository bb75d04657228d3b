package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"carrel/internal/httpapi/oas"
)

// ExchangeConnectCode answers POST /api/connect/exchange.
func (h handlers) ExchangeConnectCode(ctx context.Context, req *oas.ConnectExchange) (*oas.ConnectReply, error) {
	token, err := h.Credentials.Exchange(ctx, req.Code, req.Client)
	if err != nil {
		return nil, err
	}
	return &oas.ConnectReply{Token: token, McpUrl: h.baseURL + "/mcp"}, nil
}

// resourceMetadata serves the metadata (RFC 9728) of the resource at this path below the base URL.
func (a *API) resourceMetadata(path string) http.HandlerFunc {
	metadata := map[string]any{
		"resource":                 a.baseURL + path,
		"resource_name":            "Carrel",
		"bearer_methods_supported": []string{"header"},
	}
	if len(a.scopes) > 0 {
		metadata["authorization_servers"], metadata["scopes_supported"] = []string{a.baseURL}, a.scopes
	}
	body, err := json.Marshal(metadata)
	if err != nil {
		panic(err) // strings always marshal
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Cache-Control", "public, max-age=300")
		_, _ = w.Write(body)
	}
}
