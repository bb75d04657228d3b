package format

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

const (
	// maxRTFDepth limits the nesting of groups.
	maxRTFDepth = 1000
	// workRTF is the cost of a byte.
	workRTF = 16
)

// parseRTF reads a text in Rich Text Format.
func parseRTF(b *budget.Budget, name string, data []byte) (source.Document, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(data, "\xef\xbb\xbf \r\n\t"), []byte(`{\rtf`)) {
		return source.Document{}, fault("is not an RTF file, or is damaged")
	}
	p := &rtfParser{
		b: b, data: data, codePage: charmap.Windows1252, fonts: map[int]encoding.Encoding{}, styles: map[int]int{},
	}
	p.group.skip = 1
	if err := p.parse(); err != nil {
		return source.Document{}, err
	}
	d := source.Document{Text: p.flow.String()}
	dc := dublinCore{}
	for key, value := range map[string]string{"title": p.info.title.String(), "creator": p.info.author.String()} {
		if value != "" {
			dc[key] = []string{value}
		}
	}
	if p.info.year > 0 {
		dc["created"] = []string{strconv.Itoa(p.info.year)}
	}
	dc.describe(&d, p.heading.String(), name)
	return d, nil
}

// rtfTarget is where the text of a group goes.
type rtfTarget uint8

const (
	rtfText rtfTarget = iota
	rtfIgnored
	rtfTitle
	rtfAuthor
	rtfCreated
	rtfFonts
	rtfStyles
)

// rtfGroup is the state that braces save and restore.
type rtfGroup struct {
	target rtfTarget
	font   int
	// skip is the number of bytes that stand for a Unicode character in old readers.
	skip   int
	hidden bool
	// The paragraph's level as a heading, and whether it is in a list or a table.
	level         int
	item, inTable bool
	depth         int
}

type rtfParser struct {
	b        *budget.Budget
	data     []byte
	at       int
	group    rtfGroup
	groups   []rtfGroup
	codePage encoding.Encoding
	fonts    map[int]encoding.Encoding
	// styles maps style numbers to heading levels; style is the one that is defined.
	styles map[int]int
	style  int
	// pending holds bytes in the current code page, toSkip the bytes to leave out after a Unicode character.
	pending  []byte
	toSkip   int
	high     rune
	flow     flow
	heading  flow
	begun    bool
	tabled   bool
	inCell   bool
	lastItem bool
	info     struct {
		title, author, styleName flow
		year                     int
	}
}

func (p *rtfParser) parse() error {
	for p.at < len(p.data) {
		if p.at&4095 == 0 {
			p.b.Work(workRTF * min(4096, len(p.data)-p.at))
		}
		switch c := p.data[p.at]; c {
		case '{':
			p.flush()
			if len(p.groups) >= maxRTFDepth {
				return fault("holds groups that are nested deeper than 1,000 levels")
			}
			p.groups = append(p.groups, p.group)
			p.at++
			p.toSkip = 0
		case '}':
			p.flush()
			p.endGroup()
			p.at++
		case '\\':
			p.control()
		case '\r', '\n':
			p.at++
		default:
			p.char(c)
			p.at++
		}
	}
	p.flush()
	return nil
}

func (p *rtfParser) endGroup() {
	if p.group.target == rtfStyles {
		p.nameStyle()
	}
	if n := len(p.groups); n > 0 {
		p.group = p.groups[n-1]
		p.groups = p.groups[:n-1]
	}
	p.toSkip = 0
}

// char adds a byte of text in the current code page.
func (p *rtfParser) char(c byte) {
	if p.toSkip > 0 {
		p.toSkip--
		return
	}
	p.pending = append(p.pending, c)
	if len(p.pending) >= 4096 && c < 0x80 {
		p.flush()
	}
}

// flush decodes the pending bytes.
func (p *rtfParser) flush() {
	if len(p.pending) == 0 {
		return
	}
	from := p.codePage
	if font := p.fonts[p.group.font]; font != nil {
		from = font
	}
	decoded, err := from.NewDecoder().Bytes(p.pending)
	p.pending = p.pending[:0]
	if err == nil {
		p.write(string(decoded))
	}
}

// write adds text to the target of the group.
func (p *rtfParser) write(s string) {
	s = strings.ReplaceAll(s, "\x00", "")
	switch p.group.target {
	case rtfText:
		if !p.group.hidden {
			p.text(s)
		}
	case rtfTitle:
		p.info.title.words(s)
	case rtfAuthor:
		p.info.author.words(s)
	case rtfStyles:
		p.info.styleName.words(s)
	case rtfIgnored, rtfCreated, rtfFonts:
	}
}

func (p *rtfParser) text(s string) {
	if strings.TrimSpace(s) != "" {
		p.begin()
	}
	p.flow.words(s)
	if p.group.level > 0 && p.heading.b.Len() < maxHeading && p.heading.due != gapParagraph {
		p.heading.words(s)
	}
}

// begin writes the mark before the first text of a paragraph, and opens or closes a table.
func (p *rtfParser) begin() {
	switch {
	case p.group.inTable && !p.tabled:
		p.flow.openTable()
		p.tabled = true
	case !p.group.inTable && p.tabled:
		p.endTable()
	}
	if p.group.inTable && !p.inCell {
		p.flow.openCell()
		p.inCell = true
	}
	if p.begun {
		return
	}
	p.begun = true
	item := p.group.item && p.group.level == 0
	switch {
	case p.group.level > 0:
		p.flow.openHeading(p.group.level)
	case item:
		p.flow.tighten(p.lastItem)
		p.flow.item(p.group.depth, 0)
	}
	p.lastItem = item
}

func (p *rtfParser) endTable() {
	p.flow.closeTable()
	p.tabled, p.inCell = false, false
}

func (p *rtfParser) endParagraph() {
	if p.group.target != rtfText {
		return
	}
	if p.begun && p.group.level > 0 {
		p.flow.closeHeading()
		p.heading.due = gapParagraph // the first heading is complete
	}
	p.flow.want(gapParagraph)
	p.begun = false
}

// charsetLabels maps the character sets of fonts to encodings.
var charsetLabels = map[int]string{
	0: "windows-1252", 77: "macintosh", 128: "shift_jis", 129: "euc-kr", 134: "gbk", 136: "big5", 161: "windows-1253",
	162: "windows-1254", 163: "windows-1258", 177: "windows-1255", 178: "windows-1256", 186: "windows-1257",
	204: "windows-1251", 222: "windows-874", 238: "windows-1250",
}

// codePageOf returns the encoding of a Windows code page.
func codePageOf(number int) encoding.Encoding {
	label := map[int]string{
		932: "shift_jis", 936: "gbk", 949: "euc-kr", 950: "big5", 866: "ibm866", 10000: "macintosh", 874: "windows-874",
		65001: "utf-8",
	}[number]
	switch number {
	case 437:
		return charmap.CodePage437
	case 850:
		return charmap.CodePage850
	case 852:
		return charmap.CodePage852
	}
	if label == "" {
		label = "windows-" + strconv.Itoa(number)
	}
	if e, _ := charset.Lookup(label); e != nil {
		return e
	}
	return charmap.Windows1252
}
