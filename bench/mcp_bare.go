package main

import (
	"context"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type bareInput struct {
	AgentID string `json:"agentId"`
	Limit   int    `json:"limit"`
}

type bareOutput struct {
	Memories []bareMemory `json:"memories"`
}

// runBareMCP runs the minimal server if the arguments select it: the SDK as in its examples, with one tool, for the
// stateful and the stateless protocol.
func runBareMCP(args []string) (bool, error) {
	if len(args) != 2 || args[0] != bareMCP {
		return false, nil
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	now := time.Now().UTC().Format(time.RFC3339)
	out := bareOutput{Memories: []bareMemory{{
		ID:        "mem_01k9zq7m4x8v2n6b3c5d7f9h1j",
		Text:      rowText(1),
		Status:    "active",
		Origin:    "client",
		CreatedAt: now,
		UpdatedAt: now,
	}}}
	mcp.AddTool(server, &mcp.Tool{Name: "list_memories", Description: "List remembered facts."},
		func(context.Context, *mcp.CallToolRequest, bareInput) (*mcp.CallToolResult, bareOutput, error) {
			return nil, out, nil
		})
	same := func(*http.Request) *mcp.Server { return server }
	stateless := mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{Stateless: true})
	stateful := mcp.NewStreamableHTTPHandler(same, nil)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= mcpStateless {
			stateless.ServeHTTP(w, r)
			return
		}
		stateful.ServeHTTP(w, r)
	})
	return true, http.ListenAndServe(args[1], mux)
}
