package format

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// control reads a control word or symbol.
func (p *rtfParser) control() {
	p.at++
	if p.at >= len(p.data) {
		return
	}
	c := p.data[p.at]
	if !letter(c) {
		p.at++
		p.symbol(c)
		return
	}
	start := p.at
	for p.at < len(p.data) && letter(p.data[p.at]) {
		p.at++
	}
	word := string(p.data[start:min(p.at, start+32)])
	start = p.at
	if p.at < len(p.data) && p.data[p.at] == '-' {
		p.at++
	}
	for p.at < len(p.data) && p.data[p.at] >= '0' && p.data[p.at] <= '9' {
		p.at++
	}
	value, err := strconv.Atoi(string(p.data[start:min(p.at, start+12)]))
	has := err == nil
	if p.at < len(p.data) && p.data[p.at] == ' ' {
		p.at++
	}
	if word == "bin" && has && value > 0 {
		p.at += min(value, len(p.data)-p.at)
		return
	}
	p.word(word, value, has)
}

// symbol handles a control symbol.
func (p *rtfParser) symbol(c byte) {
	switch c {
	case '\'':
		if p.at+2 <= len(p.data) {
			if v, err := strconv.ParseUint(string(p.data[p.at:p.at+2]), 16, 8); err == nil {
				p.char(byte(v))
			}
			p.at += 2
		}
	case '*':
		p.group.target = rtfIgnored
	case '~':
		p.char(' ')
	case '_':
		p.char('-')
	case '\\', '{', '}':
		p.char(c)
	case '\r', '\n':
		p.flush()
		p.endParagraph()
	}
}

// rtfIgnoredGroups are destinations without text of the document.
var rtfIgnoredGroups = map[string]bool{
	"colortbl": true, "pict": true, "object": true, "header": true, "headerl": true, "headerr": true,
	"headerf": true, "footer": true, "footerl": true, "footerr": true, "footerf": true, "fldinst": true, "listtext": true,
	"pntext": true, "xe": true, "tc": true, "themedata": true, "info": true, "revtbl": true, "listtable": true,
	"atnid": true, "atnauthor": true, "annotation": true, "bkmkstart": true, "bkmkend": true, "nonshppict": true,
}

var rtfCharacters = map[string]string{
	"emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•",
	"tab": " ", "emspace": " ", "enspace": " ", "qmspace": " ",
}

// word handles a control word.
func (p *rtfParser) word(word string, value int, has bool) {
	if word == "u" && has {
		p.unicode(value)
		return
	}
	p.flush()
	p.toSkip = 0
	if rtfIgnoredGroups[word] {
		p.group.target = rtfIgnored
		return
	}
	if s, ok := rtfCharacters[word]; ok {
		p.write(s)
		return
	}
	switch {
	case p.destination(word), p.character(word, value, has):
	case p.group.target == rtfText:
		p.block(word, value, has)
	case p.group.target == rtfStyles && word == "s":
		p.style = value
	case p.group.target == rtfStyles && word == "outlinelevel" && value >= 0 && value < 9 && len(p.styles) < maxStyles:
		p.styles[p.style] = value + 1
	case p.group.target == rtfCreated && word == "yr" && value >= minYear && value <= maxYear:
		p.info.year = value
	case p.group.target == rtfFonts && word == "fcharset":
		if e, _ := charset.Lookup(charsetLabels[value]); e != nil && len(p.fonts) < maxStyles {
			p.fonts[p.group.font] = e
		}
	}
}

// destination changes the target of the group.
func (p *rtfParser) destination(word string) bool {
	targets := map[string]rtfTarget{
		"fonttbl": rtfFonts, "stylesheet": rtfStyles, "title": rtfTitle, "author": rtfAuthor, "creatim": rtfCreated,
	}
	target, ok := targets[word]
	if ok {
		p.group.target = target
		p.info.styleName, p.style = flow{}, 0
	}
	return ok
}

// character handles the properties of characters and the file.
func (p *rtfParser) character(word string, value int, has bool) bool {
	switch word {
	case "ansicpg":
		p.codePage = codePageOf(value)
	case "mac":
		p.codePage = codePageOf(10000)
	case "pc":
		p.codePage = codePageOf(437)
	case "uc":
		p.group.skip = max(0, min(value, 10))
	case "f":
		p.group.font = value
	case "v", "deleted":
		p.group.hidden = !has || value != 0
	case "plain":
		p.group.hidden = false
	default:
		return false
	}
	return true
}

// block handles paragraphs, lists and tables.
func (p *rtfParser) block(word string, value int, has bool) {
	switch word {
	case "par", "sect", "page":
		p.endParagraph()
	case "line":
		p.flow.want(gapLine)
	case "pard":
		p.group.level, p.group.item, p.group.inTable, p.group.depth = 0, false, false, 0
	case "s":
		p.group.level = p.styles[value]
	case "outlinelevel":
		if value >= 0 && value < 9 {
			p.group.level = value + 1
		}
	case "ls", "pnlvlblt", "pnlvlbody":
		p.group.item = !has || value > 0
	case "ilvl":
		p.group.depth = max(0, min(value, maxIndent))
	case "intbl":
		p.group.inTable = true
	case "cell", "nestcell":
		p.endCell()
	case "row", "nestrow":
		if p.tabled {
			p.flow.closeRow()
			p.inCell, p.begun = false, false
		}
	case "footnote":
		p.flow.want(gapSpace)
	}
}

func (p *rtfParser) endCell() {
	if !p.tabled {
		p.flow.openTable()
		p.tabled = true
	}
	if !p.inCell {
		p.flow.openCell()
	}
	p.flow.closeHeading()
	p.flow.closeCell()
	p.inCell, p.begun, p.lastItem = false, false, false
}

// unicode adds a character given by its UTF-16 unit.
func (p *rtfParser) unicode(value int) {
	p.flush()
	r := rune(uint16(value & 0xffff))
	switch {
	case utf16.IsSurrogate(r) && p.high == 0:
		p.high = r
	case p.high != 0:
		r = utf16.DecodeRune(p.high, r)
		p.high = 0
		fallthrough
	default:
		if r != utf8.RuneError && r != 0 {
			p.write(string(r))
		}
	}
	p.toSkip = p.group.skip
}

// nameStyle recognizes heading styles by their names at the end of a definition.
func (p *rtfParser) nameStyle() {
	name := strings.ToLower(strings.TrimSuffix(p.info.styleName.String(), ";"))
	if level := headingStyle(docxStyle{name: name}); level > 0 && len(p.styles) < maxStyles {
		p.styles[p.style] = level
	}
	p.info.styleName, p.style = flow{}, 0
}
