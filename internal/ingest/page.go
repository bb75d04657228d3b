package ingest

import (
	"context"
	"strings"

	"carrel/internal/ingest/budget"
)

// PageText returns the readable text of a piece of HTML, such as an entry of a feed. It takes time and memory in proportion
// to its length, which the caller bounds.
func PageText(source string) string {
	b := budget.New(context.Background(), budget.Default, int64(len(source)), nil)
	return strings.ReplaceAll(strings.ToValidUTF8(readPage(b, source).text.String(), ""), "\x00", "")
}
