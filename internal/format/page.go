package format

import (
	"context"
	"strings"

	"carrel/internal/format/budget"
)

// PageText returns the plain text of an HTML fragment, such as a feed entry. Time and memory are proportional to its
// length, which the caller limits. A fragment that exceeds the limits has no text.
func PageText(ctx context.Context, source string) string {
	var text string
	err := budget.Catch(func() error {
		b := budget.New(ctx, budget.Default, int64(len(source)), nil)
		text = plainText(b, source)
		return nil
	})
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
}
