package ingest

import "strings"

// PageText returns the readable text of a piece of HTML, such as an entry of a feed.
func PageText(source string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(readPage(source).text.String(), ""), "\x00", "")
}
