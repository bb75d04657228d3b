package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// message is the part of a JSON-RPC message that routing needs. The SDK decodes the rest.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params params          `json:"params"`
	body   []byte
	// batch marks an array of messages, of which no other field is read.
	batch bool
}

type params struct {
	Name            string `json:"name"`
	Cursor          string `json:"cursor"`
	ProtocolVersion string `json:"protocolVersion"`
	TaskID          string `json:"taskId"`
	// Notifications are the subscriptions of subscriptions/listen.
	Notifications *sdk.NotificationSubscriptions `json:"notifications"`
	Meta          map[string]json.RawMessage     `json:"_meta"`
}

// parseMessage decodes the envelope of a message. With an error it returns the fields that were decoded.
func parseMessage(body []byte) (message, error) {
	var m message
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		m.batch = true
		if !json.Valid(body) {
			return m, malformed("The message is not JSON.")
		}
		return m, nil
	}
	var envelope struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	err := json.Unmarshal(body, &envelope)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return m, malformed("The message is not JSON.")
	case err != nil:
		return m, invalidRequest("The message is not a JSON-RPC 2.0 object.")
	}
	m.ID, m.Method = envelope.ID, envelope.Method
	// Parameters that are not an object have no fields that matter for routing; the method's handler refuses them.
	_ = json.Unmarshal(envelope.Params, &m.Params)
	return m, nil
}

// JSON-RPC error codes.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeInvalidParams  = -32602
	// codeHeaderMismatch is defined by MCP for headers that contradict the message.
	codeHeaderMismatch = -32020
)

// rpcError is a JSON-RPC error.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error implements error.
func (e *rpcError) Error() string { return e.Message }

func malformed(detail string) *rpcError { return &rpcError{Code: codeParse, Message: detail} }
func invalidRequest(detail string) *rpcError {
	return &rpcError{Code: codeInvalidRequest, Message: detail}
}

// write answers a request with the error. An unknown id is null (JSON-RPC 2.0, 5).
func (e *rpcError) write(w http.ResponseWriter, status int, id json.RawMessage) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	body, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *rpcError       `json:"error"`
	}{"2.0", id, e})
	if err != nil {
		status, body = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}

// isAddress reports whether a host is an IP address, with or without brackets.
func isAddress(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}
