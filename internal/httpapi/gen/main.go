// Command gen writes the server's types and router from the contract. The document tells readers every status and
// header; the generated code needs only what differs from one operation to the next, so the rest is taken out first:
// problem replies become one default reply, and what our own middleware answers (304, ETag, request ids) is dropped.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"carrel/api"
)

// ownHeaders are set by middleware on many replies alike.
var ownHeaders = map[string]bool{"ETag": true, "X-Request-Id": true, "Cache-Control": true}

// ownParameters are read by middleware.
var ownParameters = map[string]bool{
	"#/components/parameters/ifNoneMatch":    true,
	"#/components/parameters/idempotencyKey": true,
}

type object = map[string]any

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	var doc object
	if err := yaml.Unmarshal(api.Document, &doc); err != nil {
		return err
	}
	reduce(doc)
	out, err := yaml.Marshal(doc)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "carrel-gen")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "openapi.yaml")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		return err
	}
	cmd := exec.Command("go", "tool", "ogen", "--target", "oas", "--package", "oas", "--clean", "--config", "ogen.yml", file)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

func reduce(doc object) {
	delete(doc, "security")
	components := doc["components"].(object)
	delete(components, "securitySchemes")
	responses := components["responses"].(object)
	strip(responses["Deleted"].(object))
	paths := doc["paths"].(object)
	for path, item := range paths {
		ops := item.(object)
		for method, op := range ops {
			if method == "parameters" {
				continue
			}
			op := op.(object)
			if op["x-carrel-plain"] == true {
				delete(ops, method)
				continue
			}
			delete(op, "security")
			reduceOperation(op)
		}
		if len(ops) == 0 || len(ops) == 1 && ops["parameters"] != nil {
			delete(paths, path)
		}
	}
	for _, name := range []string{"ETag", "RequestId", "NoStore"} {
		delete(components["headers"].(object), name)
	}
	for name := range ownParameters {
		delete(components["parameters"].(object), name[strings.LastIndexByte(name, '/')+1:])
	}
}

func reduceOperation(op object) {
	kept := object{"default": object{
		"description": "A problem.",
		"content": object{"application/problem+json": object{
			"schema": object{"$ref": "#/components/schemas/Problem"},
		}},
	}}
	for status, reply := range op["responses"].(object) {
		if strings.HasPrefix(status, "2") {
			strip(reply.(object))
			kept[status] = reply
		}
	}
	op["responses"] = kept
	var params []any
	list, _ := op["parameters"].([]any)
	for _, p := range list {
		if ref, _ := p.(object)["$ref"].(string); !ownParameters[ref] {
			params = append(params, p)
		}
	}
	op["parameters"] = params
}

func strip(reply object) {
	headers, ok := reply["headers"].(object)
	if !ok {
		return
	}
	for name := range headers {
		if ownHeaders[name] {
			delete(headers, name)
		}
	}
	if len(headers) == 0 {
		delete(reply, "headers")
	}
}
