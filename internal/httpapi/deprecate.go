package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"carrel/internal/core"
)

// deprecate adds the headers of an operation that is deprecated, or whose reply has deprecated fields: since when
// (RFC 9745), when they may be removed (RFC 8594), and where the contract describes the replacement.
func deprecate(h http.Header, op core.Operation, d core.Deprecation) {
	if d.Since == 0 {
		return
	}
	h.Set("Deprecation", "@"+strconv.FormatInt(d.Since, 10))
	h.Set("Sunset", time.Unix(d.Sunset, 0).UTC().Format(http.TimeFormat))
	h.Add("Link", `</docs#`+string(op)+`>; rel="deprecation"; type="text/html"`)
}
