package quote

import (
	"html"
	"slices"
	"strings"
)

// removedLink replaces an address.
const removedLink = "(link removed)"

// Limits of a single construct. A longer one is broken up instead.
const (
	longestTarget = 2048
	longestTag    = 4096
	maxPasses     = 12
)

// Plain removes from a model's Markdown everything that could lead a reader or browser elsewhere than to the found
// documents: images, HTML, and links to addresses that are not allowed. Their texts stay. Text that resembles a link is
// broken up, so that no Markdown parser takes it for one. Code spans on one line are kept if all parsers agree on them.
func Plain(markdown string, allowed []string) string {
	// Removing one construct can form another from the text around it.
	for range maxPasses {
		p := plainer{text: markdown, allowed: allowed, code: isPlainCode(markdown)}
		next := p.run()
		if next == markdown {
			return next
		}
		markdown = next
	}
	// The input is adversarial.
	return strings.NewReplacer("<", "‹", "](", "] (", "]:", "] :", "://", " ").Replace(markdown)
}

// plainer is one pass over a text.
type plainer struct {
	text    string
	allowed []string
	code    bool
	at      int
	out     strings.Builder
}

func (p *plainer) run() string {
	for p.at < len(p.text) {
		rest := p.text[p.at:]
		switch c := rest[0]; {
		case c == '\\':
			p.escape(rest)
		case c == '`' && p.code:
			p.copy(strings.IndexByte(rest[1:], '`') + 2)
		case c == '<':
			p.angle(rest)
		case c == '!' && strings.HasPrefix(rest, "!["):
			p.image(rest)
		case c == '[':
			p.link(rest)
		case c == ']' && len(rest) > 1 && (rest[1] == '(' || rest[1] == ':'):
			// Another parser may see the end of a link here.
			p.out.WriteString("] ")
			p.at++
		case c == '&':
			p.entity(rest)
		case p.address(rest):
		default:
			p.copy(1)
		}
	}
	return p.out.String()
}

func (p *plainer) copy(n int) {
	p.out.WriteString(p.text[p.at : p.at+n])
	p.at += n
}

// escape copies an escaped character. Characters of addresses need no escaping, so their backslash is removed.
func (p *plainer) escape(rest string) {
	if len(rest) > 1 && strings.IndexByte(":./@&", rest[1]) >= 0 {
		p.at++
		return
	}
	if len(rest) > 1 && rest[1] < 0x80 && rest[1] != '\n' {
		p.copy(2)
		return
	}
	p.copy(1)
}

// entity reads a character reference. Letters and characters of addresses are decoded, because references only hide
// them.
func (p *plainer) entity(rest string) {
	const longest = 12
	end := strings.IndexByte(rest[:min(len(rest), longest)], ';')
	if end > 0 {
		value := html.UnescapeString(rest[:end+1])
		if len(value) == 1 && (isAlphanumeric(value[0]) || strings.IndexByte(":./@-", value[0]) >= 0) {
			p.out.WriteString(value)
			p.at += end + 1
			return
		}
	}
	p.copy(1)
}

// angle reads an address in angle brackets, or HTML.
func (p *plainer) angle(rest string) {
	if size, target := autolink(rest); size > 0 {
		if p.allows(target) {
			p.copy(size)
			return
		}
		p.out.WriteString(removedLink)
		p.at += size
		return
	}
	if size := htmlSize(rest); size > 0 {
		p.at += size
		return
	}
	if len(rest) > 1 && (isAlphanumeric(rest[1]) || rest[1] == '/' || rest[1] == '!' || rest[1] == '?') {
		p.out.WriteByte('\\')
	}
	p.copy(1)
}

// image reads an image and keeps its description.
func (p *plainer) image(rest string) {
	label := bracketSize(rest[1:])
	if label == 0 || 1+label >= len(rest) {
		p.copy(1)
		return
	}
	words := rest[2:label]
	switch rest[1+label] {
	case '(':
		size, _ := targetSize(rest[1+label:])
		if size == 0 {
			p.copy(1)
			return
		}
		p.out.WriteString(words)
		p.at += 1 + label + size
	case '[':
		// "It is so![1][2]" is not an image.
		if size := bracketSize(rest[1+label:]); size > 0 && !isNumber(words) {
			p.out.WriteString(words)
			p.at += 1 + label + size
			return
		}
		p.copy(1)
	default:
		p.copy(1)
	}
}

// link reads a link and keeps its text, and its address if it is allowed.
func (p *plainer) link(rest string) {
	label := bracketSize(rest)
	if label == 0 || label >= len(rest) {
		p.copy(1)
		return
	}
	words := rest[1 : label-1]
	switch rest[label] {
	case '(':
		size, target := targetSize(rest[label:])
		if size == 0 {
			break
		}
		if p.allows(target) && !strings.ContainsAny(words, "[]`<!") {
			p.out.WriteString("[" + words + "](" + rest[label+1:label+size-1] + ")")
		} else {
			p.out.WriteString(words)
		}
		p.at += label + size
		return
	case '[':
		// Citations such as [1][2] are not links; [words][name] may be one.
		if size := bracketSize(rest[label:]); size > 0 && !isNumber(words) {
			p.out.WriteString(words)
			p.at += label
			if !isNumber(rest[label+1 : label+size-1]) {
				p.at += size
			}
			return
		}
	}
	p.copy(1)
}

// address reads a bare address, and reports whether there is one.
func (p *plainer) address(rest string) bool {
	if !beginsAddress(rest) {
		return false
	}
	size := strings.IndexAny(rest, " \t\r\n\f\v<>\"`|")
	if size < 0 {
		size = len(rest)
	}
	target := strings.TrimRight(rest[:size], "?!.,:;*_~'])}")
	// A closing bracket belongs to the address if it contains the opening one.
	if strings.Contains(target, "(") && strings.HasPrefix(rest[len(target):], ")") {
		target = rest[:len(target)+1]
	}
	if p.allows(target) {
		p.copy(len(target))
		return true
	}
	p.out.WriteString(removedLink)
	p.at += len(target)
	return true
}

func (p *plainer) allows(target string) bool { return slices.Contains(p.allowed, target) }

// beginsAddress reports whether a text begins with an address that Markdown parsers turn into a link.
func beginsAddress(text string) bool {
	const longest = 8
	start := strings.ToLower(text[:min(len(text), longest)])
	for _, prefix := range []string{"http://", "https://", "ftp://", "www.", "mailto:", "xmpp:"} {
		if strings.HasPrefix(start, prefix) && len(text) > len(prefix) && text[len(prefix)] > ' ' {
			return true
		}
	}
	return false
}

// bracketSize returns the length of the square brackets at the start of a text with their content, or 0.
func bracketSize(text string) int {
	depth := 0
	for i := 0; i < len(text) && i < longestTarget; i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// targetSize returns the length of a link target in round brackets and its address; 0 if it is not a target.
func targetSize(text string) (int, string) {
	i := 1
	for i < len(text) && isMarkdownSpace(text[i]) {
		i++
	}
	from := i
	if i < len(text) && text[i] == '<' {
		end := strings.IndexAny(text[i:min(len(text), longestTarget)], ">\n")
		if end < 0 || text[i+end] != '>' {
			return 0, ""
		}
		target := text[i+1 : i+end]
		return closingSize(text, i+end+1), target
	}
	depth := 0
	for i < len(text) && i < longestTarget && !isMarkdownSpace(text[i]) {
		switch text[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			break
		}
		i++
	}
	i = min(i, len(text))
	return closingSize(text, i), text[from:i]
}

// closingSize returns the end of a target whose address ends at i: after an optional title and the bracket.
func closingSize(text string, i int) int {
	var quote byte
	for ; i < len(text) && i < longestTarget; i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(':
			quote = ')'
		case c == ')':
			return i + 1
		}
	}
	return 0
}

func isMarkdownSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isAlphanumeric(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}

// isNumber reports whether a text is the content of a citation.
func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789,;-– ") == ""
}
