package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
)

// edit is a replacement in a generated file.
type edit struct{ file, old, new string }

// edits remove costs of every request from ogen's output: the buffer of a reply grows from nothing, a missing query
// parameter makes an error with its callers, and a second copy of the body is for middleware, which is not used.
//
// ogen's packages middleware and ogenerrors import its parser of contracts, half a megabyte of the program. The errors
// are declared in oas/errors.go instead.
var edits = []edit{
	{
		"oas_response_encoders_gen.go", "e := new(jx.Encoder)\n",
		"e := jx.GetEncoder()\n\tdefer jx.PutEncoder(e)\n",
	},
	{
		"oas_parameters_gen.go", "q := uri.NewQueryDecoder(r.URL.Query())\n",
		"query := r.URL.Query()\n\tq := uri.NewQueryDecoder(query)\n",
	},
	{"oas_parameters_gen.go", "q.HasParam(cfg)", "hasParameter(query, cfg.Name)"},
	{"oas_parameters_gen.go", importErrors, ""},
	{"oas_parameters_gen.go", "ogenerrors.", ""},
	{"oas_request_decoders_gen.go", "rawBody = append(rawBody, buf...)\n", ""},
	{"oas_request_decoders_gen.go", importErrors, ""},
	{"oas_request_decoders_gen.go", "ogenerrors.", ""},
	{"oas_handlers_gen.go", "\tvar rawBody []byte\n", ""},
	{"oas_handlers_gen.go", "request, rawBody, close, err :=", "request, _, close, err :="},
	{"oas_handlers_gen.go", importMiddleware, ""},
	{"oas_handlers_gen.go", importErrors, ""},
	{"oas_handlers_gen.go", "ogenerrors.", ""},
	{"oas_cfg_gen.go", importMiddleware, ""},
	{"oas_cfg_gen.go", importErrors, ""},
	{"oas_cfg_gen.go", "// ErrorHandler is error handler.\ntype ErrorHandler = ogenerrors.ErrorHandler\n", ""},
	{"oas_cfg_gen.go", "ogenerrors.DefaultErrorHandler", "defaultErrorHandler"},
	{"oas_cfg_gen.go", "\tMiddleware         Middleware\n", ""},
	{"oas_cfg_gen.go", "\t\tMiddleware:         nil,\n", ""},
}

const (
	importMiddleware = "\t\"github.com/ogen-go/ogen/middleware\"\n"
	importErrors     = "\t\"github.com/ogen-go/ogen/ogenerrors\"\n"
)

// The call of a handler through middleware with the direct call after it, and the option that sets middleware.
var (
	hooked           = regexp.MustCompile(`(?s)\tif m := s\.cfg\.Middleware; m != nil \{\n.*?\n\t\} else \{\n(.*?)\n\t\}\n`)
	middlewareOption = regexp.MustCompile(`(?s)// WithMiddleware .*?\n\}\n`)
)

// helper is appended to the file of the parameters.
const helper = `
// notSet is the error of a query without a parameter, its name.
type notSet string

func (name notSet) Error() string { return "query parameter " + strconv.Quote(string(name)) + " not set" }

func hasParameter(query url.Values, name string) error {
	if query.Has(name) {
		return nil
	}
	return notSet(name)
}
`

// tighten edits the generated files of a folder.
func tighten(folder string) error {
	if err := os.Remove(filepath.Join(folder, "oas_middleware_gen.go")); err != nil {
		return err
	}
	if err := removeMatches(filepath.Join(folder, "oas_handlers_gen.go"), hooked); err != nil {
		return err
	}
	if err := removeMatches(filepath.Join(folder, "oas_cfg_gen.go"), middlewareOption); err != nil {
		return err
	}
	for _, e := range edits {
		file := filepath.Join(folder, e.file)
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if !bytes.Contains(text, []byte(e.old)) {
			return fmt.Errorf("%s has no %q; ogen's output has changed", e.file, e.old)
		}
		text = bytes.ReplaceAll(text, []byte(e.old), []byte(e.new))
		if err := writeFormatted(file, text); err != nil {
			return err
		}
	}
	file := filepath.Join(folder, "oas_parameters_gen.go")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text = bytes.Replace(text, []byte("\t\"net/url\"\n"), []byte("\t\"net/url\"\n\t\"strconv\"\n"), 1)
	if err := writeFormatted(file, append(text, helper...)); err != nil {
		return err
	}
	return prune(folder)
}

// removeMatches replaces what a pattern matches with its group, if it has one.
func removeMatches(file string, pattern *regexp.Regexp) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !pattern.Match(text) {
		return fmt.Errorf("%s has no %s; ogen's output has changed", filepath.Base(file), pattern)
	}
	return writeFormatted(file, pattern.ReplaceAll(text, []byte("$1\n")))
}

func writeFormatted(file string, text []byte) error {
	text, err := format.Source(text)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600) //nolint:gosec // a generated file
}
