package format

import (
	"context"
	"strings"

	"carrel/internal/format/budget"
)

// PageText returns the readable text of a piece of HTML, such as an entry of a feed. It takes time and memory in proportion
// to its length, which the caller bounds. A piece that takes more than the limits allow has no text.
func PageText(ctx context.Context, source string) string {
	var text string
	err := budget.Catch(func() error {
		b := budget.New(ctx, budget.Default, int64(len(source)), nil)
		text = readPage(b, source).text.String()
		return nil
	})
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
}
