package quote

import "strings"

// autolink returns the length of an address in angle brackets and the address, or 0.
func autolink(text string) (int, string) {
	end := strings.IndexAny(text[1:min(len(text), longestTarget)], "<> \t\r\n")
	if end < 1 || text[1+end] != '>' {
		return 0, ""
	}
	target := text[1 : 1+end]
	colon := strings.IndexByte(target, ':')
	at := strings.IndexByte(target, '@')
	if colon < 2 && at < 1 {
		return 0, ""
	}
	for i := range max(0, colon) {
		if c := target[i]; !isAlphanumeric(c) && c != '+' && c != '.' && c != '-' && at < 0 {
			return 0, ""
		}
	}
	return end + 2, target
}

// htmlSize returns the length of the HTML tag, comment or processing instruction at the start of a text, or 0. Scripts
// and styles include their content.
func htmlSize(text string) int {
	for _, pair := range [][2]string{{"<!--", "-->"}, {"<?", "?>"}, {"<![CDATA[", "]]>"}} {
		if strings.HasPrefix(text, pair[0]) {
			return after(text, pair[1])
		}
	}
	if len(text) < 3 {
		return 0
	}
	name := 1
	if text[1] == '/' || text[1] == '!' {
		name++
	}
	end := name
	for end < len(text) && (isAlphanumeric(text[end]) || text[end] == '-') {
		end++
	}
	if end == name || '0' <= text[name] && text[name] <= '9' {
		return 0
	}
	size := tagSize(text, end)
	if size == 0 {
		return 0
	}
	switch tag := strings.ToLower(text[1:end]); tag {
	case "script", "style":
		content := strings.ToLower(text[size:min(len(text), size+longestTag)])
		if closing := strings.Index(content, "</"+tag); closing >= 0 {
			if rest := after(text[size+closing:], ">"); rest > 0 {
				return size + closing + rest
			}
		}
	}
	return size
}

// tagSize returns the end of a tag whose name ends at i. Quoted attributes may contain its end mark.
func tagSize(text string, i int) int {
	var quote byte
	for ; i < len(text) && i < longestTag; i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1
		case c == '<':
			return 0
		}
	}
	// The quotation mark may not have been part of an attribute.
	if end := strings.IndexByte(text[:min(len(text), longestTag)], '>'); end > 0 {
		return end + 1
	}
	return 0
}

// after returns the end of the first mark in a text, or 0. It searches only longestTag bytes, because it is called
// often.
func after(text, mark string) int {
	if i := strings.Index(text[:min(len(text), longestTag)], mark); i >= 0 {
		return i + len(mark)
	}
	return 0
}

// isPlainCode reports whether the backticks of a text form code spans on which all Markdown parsers agree: single
// backticks, closed on their line, without a bar that could end a table cell.
func isPlainCode(text string) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '`':
			end := strings.IndexAny(text[i+1:], "`\n\r|")
			if end < 1 || text[i+1+end] != '`' || strings.HasPrefix(text[i+end+2:], "`") {
				return false
			}
			i += end + 1
		}
	}
	return true
}
