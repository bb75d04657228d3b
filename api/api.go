// Package api holds the contract: the OpenAPI document that the server's types are generated from and that it serves.
package api

import _ "embed"

// Document is the OpenAPI document, as YAML.
//
//go:embed openapi.yaml
var Document []byte
