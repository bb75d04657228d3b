package server

import (
	"net/http"
	"slices"
	"strings"
)

// A compressed reply is another representation than the plain one and needs another ETag (RFC 9110, 8.8.3.3). The tag
// of the handler gets the encoding as a suffix, as in "abc-gzip". Conditional requests name the tag that the client has
// seen, so that the suffix is removed before the handler compares the tags.

// taggedWith returns an ETag with the suffix of an encoding.
func taggedWith(tag, encoding string) string {
	opaque, ok := strings.CutSuffix(tag, `"`)
	if !ok {
		return tag
	}
	return opaque + "-" + encoding + `"`
}

// plainTags removes the suffixes of encodings from the tags of a conditional request. An If-Match names the version
// that a change is based on, whatever its encoding was. An If-None-Match names a stored reply, which the client can use
// only if it accepts the encoding. It reports whether If-None-Match has a tag with the suffix of the accepted encoding.
func plainTags(h http.Header, accepted string) (stored bool) {
	if lines := h["If-Match"]; lines != nil {
		for _, encoding := range encodings {
			lines = withoutSuffix(lines, encoding)
		}
		h["If-Match"] = lines
	}
	if lines := h["If-None-Match"]; lines != nil && accepted != "" {
		plain := withoutSuffix(lines, accepted)
		stored = !slices.Equal(plain, lines)
		h["If-None-Match"] = plain
	}
	return stored
}

// withoutSuffix removes the suffix of an encoding from all tags of a header.
func withoutSuffix(lines []string, encoding string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.ReplaceAll(line, "-"+encoding+`"`, `"`)
	}
	return out
}
